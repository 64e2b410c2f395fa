// How often each class was predicted for each class: what accuracy, precision, recall, F1 and Matthews'
// correlation are computed from. Sums of counts, so ranks and batches may be added in any order.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace hftrain::metrics {

// A reference that does not count, as labels of padding and of unchosen tokens are.
constexpr int64_t kIgnored = -100;

// One class or an average of classes. F1 is the harmonic mean of the other two.
struct ClassScores {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

// binary: the positive class alone. micro: of all classes' counts together. macro: the mean over classes.
// weighted: their mean by how often each is a reference.
enum class Average { kBinary, kMicro, kMacro, kWeighted };

struct ScoreRules {
  Average average = Average::kBinary;
  int64_t positive = 1;      // the class of kBinary
  double zero_division = 0;  // 0, 1 or NaN: what 0/0 is; a NaN is left out of averages
};

class ClassCounts {
 public:
  // Of equal length. Pairs whose reference is kIgnored are left out.
  void add(std::span<const int64_t> predictions, std::span<const int64_t> references);
  void add(int64_t prediction, int64_t reference, int64_t count) {
    counts_[{reference, prediction}] += count;
  }

  // Classes that occur in either, ascending.
  std::vector<int64_t> classes() const;
  // The correlation of predicted and true class (Gorodkin's R_K for more than two); 0 where one side has
  // one class only, as scikit-learn has it. NaN of nothing.
  double matthews_correlation() const;
  // As scikit-learn's precision_recall_fscore_support. kBinary refuses (kData) what is not a question of two
  // classes with `positive` among them. NaN of nothing.
  ClassScores scores(const ScoreRules& rules = {}) const;
  // The same for each of classes().
  std::vector<ClassScores> scores_by_class(double zero_division = 0) const;

  // (reference, prediction) -> count; at most the square of the number of classes.
  const std::map<std::pair<int64_t, int64_t>, int64_t>& pairs() const { return counts_; }

 private:
  std::map<std::pair<int64_t, int64_t>, int64_t> counts_;
};

// Shares of right predictions need no more than two numbers, whatever the number of classes.
struct RightAndAll {
  int64_t right = 0;
  int64_t all = 0;
  void add(std::span<const int64_t> predictions, std::span<const int64_t> references);
  double accuracy() const { return static_cast<double>(right) / static_cast<double>(all); }  // NaN of nothing
};

}  // namespace hftrain::metrics
