#include "hftrain/tasks/extra_scorer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "hftrain/metrics/correlation.h"

namespace hftrain::tasks {
namespace {

// The inputs of a task with a mask are as many as the mask says.
double tokens_of(const OutputBatch& batch) {
  const auto named = [&](std::string_view name) -> const RowValues* {
    const auto found = std::find_if(batch.inputs.begin(), batch.inputs.end(),
                                    [&](const RowValues& one) { return one.name == name; });
    return found == batch.inputs.end() ? nullptr : &*found;
  };
  if (const RowValues* mask = named("attention_mask"))
    return static_cast<double>(std::count(mask->ids.begin(), mask->ids.end(), 1));
  const RowValues* ids = named("input_ids");
  return ids ? static_cast<double>(ids->ids.size()) : 0;
}

// State: tokens, then count, mean and squared distances of the losses, then the other scorer's.
class ExtraScorer final : public Scorer {
 public:
  ExtraScorer(std::unique_ptr<Scorer> scorer, const ExtraMetrics& wanted)
      : scorer_(std::move(scorer)), wanted_(wanted) {}

  void add(const OutputBatch& batch) override {
    tokens_ += tokens_of(batch);
    for (const float loss : batch.losses) losses_.add(loss, loss);
    scorer_->add(batch);
  }
  std::vector<double> state() const override {
    std::vector<double> numbers{tokens_, losses_.count, losses_.mean_x, losses_.square_x};
    const std::vector<double> others = scorer_->state();
    numbers.insert(numbers.end(), others.begin(), others.end());
    return numbers;
  }
  void merge(std::span<const double> state) override {
    if (state.size() < kOwnNumbers) throw std::invalid_argument("the state of another scorer");
    tokens_ += state[0];
    losses_.merge({state[1], state[2], state[2], state[3], state[3], state[3], 0});
    scorer_->merge(state.subspan(kOwnNumbers));
  }
  metrics::MetricResults results() const override {
    metrics::MetricResults results = scorer_->results();
    if (wanted_.of_inputs) results.emplace_back("input_tokens", tokens_);
    if (wanted_.of_losses) results.emplace_back("loss_std", std::sqrt(losses_.square_x / losses_.count));
    return results;
  }
  bool judges_by_itself() const override { return scorer_->judges_by_itself(); }
  bool goes_in_pieces() const override { return scorer_->goes_in_pieces(); }
  void forget() override {
    tokens_ = 0;
    losses_ = {};
    scorer_->forget();
  }
  void expect_all(const ResultPlace* place) override { scorer_->expect_all(place); }
  std::vector<ResultFile> files(std::string_view prefix) const override { return scorer_->files(prefix); }

 private:
  static constexpr size_t kOwnNumbers = 4;
  std::unique_ptr<Scorer> scorer_;
  ExtraMetrics wanted_;
  double tokens_ = 0;
  metrics::PairMoments losses_;
};

}  // namespace

std::vector<std::string> ExtraMetrics::names() const {
  std::vector<std::string> names;
  if (of_inputs) names.emplace_back("input_tokens");
  if (of_losses) names.emplace_back("loss_std");
  return names;
}

std::unique_ptr<Scorer> with_extra_metrics(std::unique_ptr<Scorer> scorer, const ExtraMetrics& wanted) {
  if (!wanted.any()) return scorer;
  return std::make_unique<ExtraScorer>(std::move(scorer), wanted);
}

}  // namespace hftrain::tasks
