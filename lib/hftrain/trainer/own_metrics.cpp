#include "hftrain/trainer/own_metrics.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>

namespace hftrain::trainer {
namespace {

constexpr int64_t kFilling = -100;

// One sample's part of some values, as numbers that ranks can gather: whether they are ids, sizes, values.
void append(const tasks::RowValues& values, size_t row, std::vector<double>& to) {
  const auto size = static_cast<size_t>(values.row_size());
  const bool whole = values.scores.empty();
  to.push_back(whole ? 1 : 0);
  to.push_back(static_cast<double>(values.sizes.size()));
  for (const int64_t extent : values.sizes) to.push_back(static_cast<double>(extent));
  for (size_t i = row * size; i < (row + 1) * size; ++i)
    to.push_back(whole ? static_cast<double>(values.ids[i]) : static_cast<double>(values.scores[i]));
}

// Reads those numbers again.
class Numbers {
 public:
  explicit Numbers(std::span<const double> numbers) : numbers_(numbers) {}
  bool done() const { return next_ == numbers_.size(); }
  int64_t number() {
    if (done()) throw std::invalid_argument("the state of another scorer");
    return static_cast<int64_t>(numbers_[next_++]);
  }
  at::Tensor tensor() {
    const bool whole = number() == 1;
    std::vector<int64_t> sizes(static_cast<size_t>(number()));
    for (int64_t& extent : sizes) extent = number();
    const at::Tensor read = at::empty(sizes, at::kDouble);
    const auto count = static_cast<size_t>(read.numel());
    if (numbers_.size() - next_ < count) throw std::invalid_argument("the state of another scorer");
    std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(next_), count,
                read.mutable_data_ptr<double>());
    next_ += count;
    return read.to(whole ? at::kLong : at::kFloat);
  }

 private:
  std::span<const double> numbers_;
  size_t next_ = 0;
};

// One below the other, filled up to the longest in each dimension.
at::Tensor stacked(const std::vector<at::Tensor>& rows) {
  std::vector<int64_t> longest = rows.front().sizes().vec();
  for (const at::Tensor& row : rows) {
    for (size_t dim = 0; dim < longest.size(); ++dim)
      longest[dim] = std::max(longest[dim], row.size(static_cast<int64_t>(dim)));
  }
  std::vector<at::Tensor> filled;
  for (const at::Tensor& row : rows) {
    std::vector<int64_t> margins;  // from the last dimension to the first: before it and behind it
    for (size_t dim = longest.size(); dim-- > 0;)
      margins.insert(margins.end(), {0, longest[dim] - row.size(static_cast<int64_t>(dim))});
    filled.push_back(margins.empty() ? row : at::constant_pad_nd(row, margins, kFilling));
  }
  return at::stack(filled);
}

// State: how many numbers the other scorer's has, it, and then for each sample its place, output and labels.
class OwnScorer final : public tasks::Scorer {
 public:
  OwnScorer(std::unique_ptr<tasks::Scorer> scorer, OwnMetrics metrics, std::vector<std::string> labels)
      : scorer_(std::move(scorer)), metrics_(std::move(metrics)), label_names_(std::move(labels)) {}

  void add(const tasks::OutputBatch& batch) override {
    for (size_t row = 0; row < batch.samples.size(); ++row) {
      kept_.push_back(static_cast<double>(batch.samples[row]));
      kept_.push_back(static_cast<double>(batch.labels.size()));
      append(batch.output, row, kept_);
      for (const tasks::RowValues& label : batch.labels) append(label, row, kept_);
    }
    scorer_->add(batch);
  }
  std::vector<double> state() const override {
    const std::vector<double> others = scorer_->state();
    std::vector<double> numbers{static_cast<double>(others.size())};
    numbers.insert(numbers.end(), others.begin(), others.end());
    numbers.insert(numbers.end(), kept_.begin(), kept_.end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.empty() || state.front() >= static_cast<double>(state.size()))
      throw std::invalid_argument("the state of another scorer");
    const auto others = static_cast<size_t>(state.front());
    scorer_->merge(state.subspan(1, others));
    const std::span<const double> rows = state.subspan(1 + others);
    kept_.insert(kept_.end(), rows.begin(), rows.end());
  }
  metrics::MetricResults results() const override {
    metrics::MetricResults results = scorer_->results();
    if (kept_.empty()) return results;
    for (auto& [name, value] : metrics_(outputs())) {
      const std::string& wanted = name;
      std::erase_if(results, [&](const auto& one) { return one.first == wanted; });
      results.emplace_back(name, value);
    }
    return results;
  }
  bool judges_by_itself() const override { return scorer_->judges_by_itself(); }
  bool goes_in_pieces() const override { return scorer_->goes_in_pieces(); }
  void forget() override {
    kept_.clear();
    scorer_->forget();
  }
  void expect_all(const tasks::ResultPlace* place) override { scorer_->expect_all(place); }
  std::vector<tasks::ResultFile> files(std::string_view prefix) const override {
    return scorer_->files(prefix);
  }

 private:
  struct Sample {
    int64_t place = 0;
    at::Tensor output;
    std::vector<at::Tensor> labels;
  };

  std::vector<Sample> samples() const {
    std::vector<Sample> samples;
    for (Numbers numbers(kept_); !numbers.done();) {
      Sample sample{.place = numbers.number()};
      const int64_t labels = numbers.number();
      sample.output = numbers.tensor();
      for (int64_t i = 0; i < labels; ++i) sample.labels.push_back(numbers.tensor());
      samples.push_back(std::move(sample));
    }
    std::sort(samples.begin(), samples.end(),
              [](const Sample& one, const Sample& other) { return one.place < other.place; });
    return samples;
  }

  JudgedOutputs outputs() const {
    const std::vector<Sample> all = samples();
    const auto stack_of = [&](const auto& part) {
      std::vector<at::Tensor> rows;
      for (const Sample& sample : all) rows.push_back(part(sample));
      return stacked(rows);
    };
    JudgedOutputs judged{.predictions = stack_of([](const Sample& sample) { return sample.output; }),
                         .labels = {}};
    for (size_t i = 0; i < std::min(all.front().labels.size(), label_names_.size()); ++i)
      judged.labels.emplace(label_names_[i],
                            stack_of([i](const Sample& sample) { return sample.labels.at(i); }));
    return judged;
  }

  std::unique_ptr<tasks::Scorer> scorer_;
  OwnMetrics metrics_;
  std::vector<std::string> label_names_;
  std::vector<double> kept_;
};

}  // namespace

ScorerMaker with_own_metrics(ScorerMaker make, OwnMetrics metrics, std::vector<std::string> labels) {
  if (!make || !metrics) return make;
  return [make = std::move(make), metrics = std::move(metrics), labels = std::move(labels)] {
    return std::make_unique<OwnScorer>(make(), metrics, labels);
  };
}

}  // namespace hftrain::trainer
