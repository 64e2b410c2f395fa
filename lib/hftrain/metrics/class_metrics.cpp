// Metrics of class ids and of numbers.
#include <stdexcept>

#include "hftrain/metrics/class_counts.h"
#include "hftrain/metrics/correlation.h"
#include "hftrain/metrics/metric_makers.h"

namespace hftrain::metrics {
namespace {

class Accuracy final : public SumsMetric {
 public:
  Accuracy() : SumsMetric(2) {}
  void add(const MetricBatch& batch) override {
    const auto& [predictions, references] = batch_as<ClassBatch>(batch);
    RightAndAll counts;
    counts.add(predictions, references);
    sums_[0] += static_cast<double>(counts.right);
    sums_[1] += static_cast<double>(counts.all);
  }
  MetricResults compute() const override { return {{"accuracy", sums_[0] / sums_[1]}}; }
};

// State: reference, prediction and count of every pair that occurs.
class ClassMetric final : public Metric {
 public:
  using Value = double (*)(const ClassCounts&, const ScoreRules&);
  ClassMetric(const char* key, Value value, ScoreRules rules) : key_(key), value_(value), rules_(rules) {}

  void add(const MetricBatch& batch) override {
    const auto& [predictions, references] = batch_as<ClassBatch>(batch);
    counts_.add(predictions, references);
  }
  std::vector<double> state() const override {
    std::vector<double> numbers;
    for (const auto& [pair, count] : counts_.pairs()) {
      numbers.push_back(static_cast<double>(pair.first));
      numbers.push_back(static_cast<double>(pair.second));
      numbers.push_back(static_cast<double>(count));
    }
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.size() % 3 != 0) throw std::invalid_argument("three numbers for each pair of classes");
    for (size_t i = 0; i < state.size(); i += 3) {
      counts_.add(static_cast<int64_t>(state[i + 1]), static_cast<int64_t>(state[i]),
                  static_cast<int64_t>(state[i + 2]));
    }
  }
  MetricResults compute() const override { return {{key_, value_(counts_, rules_)}}; }

 private:
  const char* key_;
  Value value_;
  ScoreRules rules_;
  ClassCounts counts_;
};

class MomentsMetric final : public Metric {
 public:
  using Value = double (PairMoments::*)() const;
  MomentsMetric(const char* key, Value value) : key_(key), value_(value) {}

  void add(const MetricBatch& batch) override {
    const auto& [predictions, references] = batch_as<ScoreBatch>(batch);
    for (size_t i = 0; i < references.size(); ++i) moments_.add(predictions[i], references[i]);
  }
  std::vector<double> state() const override {
    const PairMoments& m = moments_;
    return {m.count, m.mean_x, m.mean_y, m.square_x, m.square_y, m.product, m.squared_error};
  }
  void merge(std::span<const double> state) override {
    if (state.size() != 7) throw std::invalid_argument("seven numbers");
    moments_.merge({state[0], state[1], state[2], state[3], state[4], state[5], state[6]});
  }
  MetricResults compute() const override { return {{key_, (moments_.*value_)()}}; }

 private:
  const char* key_;
  Value value_;
  PairMoments moments_;
};

class Spearman final : public Metric {
 public:
  void add(const MetricBatch& batch) override {
    const auto& [predictions, references] = batch_as<ScoreBatch>(batch);
    predictions_.insert(predictions_.end(), predictions.begin(), predictions.end());
    references_.insert(references_.end(), references.begin(), references.end());
  }
  std::vector<double> state() const override {
    std::vector<double> numbers = predictions_;
    numbers.insert(numbers.end(), references_.begin(), references_.end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.size() % 2 != 0) throw std::invalid_argument("as many predictions as references");
    const auto middle = state.begin() + static_cast<std::ptrdiff_t>(state.size() / 2);
    predictions_.insert(predictions_.end(), state.begin(), middle);
    references_.insert(references_.end(), middle, state.end());
  }
  MetricResults compute() const override { return {{"spearmanr", spearman(predictions_, references_)}}; }

 private:
  std::vector<double> predictions_;
  std::vector<double> references_;
};

// Two metrics of the same batches and the mean of their results, as run_glue reports them. State: the length
// of the first one's, then both.
class Pair final : public Metric {
 public:
  Pair(std::unique_ptr<Metric> first, std::unique_ptr<Metric> second, const char* first_key)
      : first_(std::move(first)), second_(std::move(second)), first_key_(first_key) {}

  void add(const MetricBatch& batch) override {
    first_->add(batch);
    second_->add(batch);
  }
  std::vector<double> state() const override {
    const std::vector<double> first = first_->state(), second = second_->state();
    std::vector<double> numbers{static_cast<double>(first.size())};
    numbers.insert(numbers.end(), first.begin(), first.end());
    numbers.insert(numbers.end(), second.begin(), second.end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.empty() || !(state[0] >= 0) || !(state[0] < static_cast<double>(state.size()))) {
      throw std::invalid_argument("the state of a pair of metrics");
    }
    const auto first = static_cast<size_t>(state[0]);
    first_->merge(state.subspan(1, first));
    second_->merge(state.subspan(1 + first));
  }
  MetricResults compute() const override {
    const double first = first_->compute()[0].second;
    const auto second = second_->compute()[0];
    return {{first_key_, first}, second, {"combined_score", (first + second.second) / 2}};
  }

 private:
  std::unique_ptr<Metric> first_;
  std::unique_ptr<Metric> second_;
  const char* first_key_;
};

}  // namespace

std::unique_ptr<Metric> make_accuracy(const MetricOptions&) {
  return std::make_unique<Accuracy>();
}
std::unique_ptr<Metric> make_precision(const MetricOptions& options) {
  const auto value = [](const ClassCounts& counts, const ScoreRules& rules) {
    return counts.scores(rules).precision;
  };
  return std::make_unique<ClassMetric>("precision", value, options.scores);
}
std::unique_ptr<Metric> make_recall(const MetricOptions& options) {
  const auto value = [](const ClassCounts& counts, const ScoreRules& rules) {
    return counts.scores(rules).recall;
  };
  return std::make_unique<ClassMetric>("recall", value, options.scores);
}
std::unique_ptr<Metric> make_f1(const MetricOptions& options) {
  const auto value = [](const ClassCounts& counts, const ScoreRules& rules) {
    return counts.scores(rules).f1;
  };
  return std::make_unique<ClassMetric>("f1", value, options.scores);
}
std::unique_ptr<Metric> make_matthews_correlation(const MetricOptions& options) {
  const auto value = [](const ClassCounts& counts, const ScoreRules&) {
    return counts.matthews_correlation();
  };
  return std::make_unique<ClassMetric>("matthews_correlation", value, options.scores);
}
std::unique_ptr<Metric> make_mean_squared_error(const MetricOptions&) {
  return std::make_unique<MomentsMetric>("mse", &PairMoments::mean_squared_error);
}
std::unique_ptr<Metric> make_pearson(const MetricOptions&) {
  return std::make_unique<MomentsMetric>("pearsonr", &PairMoments::pearson);
}
std::unique_ptr<Metric> make_spearman(const MetricOptions&) {
  return std::make_unique<Spearman>();
}
std::unique_ptr<Metric> make_accuracy_and_f1(const MetricOptions& options) {
  return std::make_unique<Pair>(make_accuracy(options), make_f1(options), "accuracy");
}
std::unique_ptr<Metric> make_pearson_and_spearman(const MetricOptions& options) {
  return std::make_unique<Pair>(make_pearson(options), make_spearman(options), "pearson");
}

}  // namespace hftrain::metrics
