#include "hftrain/trainer/own_metrics.h"

#include <ATen/Functions.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hftrain::trainer {
namespace {

// Of a task: how many samples there were.
class CountingScorer final : public tasks::Scorer {
 public:
  void add(const tasks::OutputBatch& batch) override { count_ += static_cast<double>(batch.samples.size()); }
  std::vector<double> state() const override { return {count_}; }
  void merge(std::span<const double> state) override { count_ += state[0]; }
  metrics::MetricResults results() const override { return {{"count", count_}, {"accuracy", 0.25}}; }

 private:
  double count_ = 0;
};

// Rows of that many ids, each its sample's number.
void add_samples(tasks::Scorer& scorer, const std::vector<int64_t>& samples, int64_t length) {
  std::vector<int64_t> ids;
  for (const int64_t sample : samples) ids.insert(ids.end(), static_cast<size_t>(length), sample);
  tasks::OutputBatch batch{.samples = samples, .output = {.name = "output", .sizes = {length}, .ids = ids}};
  batch.labels = {{.name = "labels", .sizes = {}, .ids = samples}};
  scorer.add(batch);
}

TEST_CASE("own metrics see the samples of all ranks in the order of the split") {
  JudgedOutputs seen;
  const OwnMetrics judge = [&](const JudgedOutputs& all) {
    seen = all;
    return std::vector<std::pair<std::string, double>>{{"accuracy", 0.5}, {"mine", 7}};
  };
  const ScorerMaker make =
      with_own_metrics([] { return std::make_unique<CountingScorer>(); }, judge, {"labels"});
  const auto first = make(), second = make(), whole = make();
  add_samples(*first, {0, 2}, 2);
  add_samples(*second, {1}, 3);
  whole->merge(first->state());
  whole->merge(second->state());
  const metrics::MetricResults results = whole->results();
  CHECK(results == metrics::MetricResults{{"count", 3}, {"accuracy", 0.5}, {"mine", 7}});
  CHECK(at::equal(seen.predictions, at::tensor({0, 0, -100, 1, 1, 1, 2, 2, -100}, at::kLong).view({3, 3})));
  CHECK(at::equal(seen.labels.at("labels"), at::arange(3)));
}

TEST_CASE("own metrics of nothing are those of the task, and scores stay float32") {
  JudgedOutputs seen;
  const ScorerMaker make = with_own_metrics([] { return std::make_unique<CountingScorer>(); },
                                            [&](const JudgedOutputs& all) {
                                              seen = all;
                                              return std::vector<std::pair<std::string, double>>{};
                                            },
                                            {"labels"});
  const auto scorer = make();
  CHECK(scorer->results().size() == 2);
  CHECK_FALSE(seen.predictions.defined());
  const std::vector<int64_t> samples = {0, 1};
  const std::vector<float> scores = {0.5F, -1.25F};
  scorer->add({.samples = samples, .output = {.name = "output", .sizes = {}, .scores = scores}});
  CHECK(scorer->results().size() == 2);
  CHECK(at::equal(seen.predictions, at::tensor({0.5F, -1.25F})));
  CHECK(seen.labels.empty());
  CHECK_FALSE(with_own_metrics(
      {}, [](const JudgedOutputs&) { return std::vector<std::pair<std::string, double>>{}; }, {}));
}

}  // namespace
}  // namespace hftrain::trainer
