#include "hftrain/metrics/metric_table.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::metrics {
namespace {

using Texts = std::vector<std::string>;

// Two examples of every kind.
struct SampleBatches {
  std::vector<int64_t> classes{0, 1}, lengths{2}, generated{3, 4};
  std::vector<double> scores{0.5, 1.5};
  Texts texts{"a b c", ""};
  std::vector<Texts> references{{"a b c"}, {}}, one_each{{"a b c"}, {"d"}};

  MetricBatch of(MetricInput input) const {
    switch (input) {
      case MetricInput::kClasses:
        return ClassBatch{classes, classes};
      case MetricInput::kScores:
        return ScoreBatch{scores, scores};
      case MetricInput::kTags:
        return TagBatch{classes, classes, lengths};
      case MetricInput::kTexts:
        return TextBatch{texts, one_each, {}, generated};
      case MetricInput::kAnswers:
        break;
    }
    return AnswerBatch{texts, {}, one_each, {}};
  }
  // Another kind than `input`.
  MetricBatch other_than(MetricInput input) const {
    return of(input == MetricInput::kClasses ? MetricInput::kScores : MetricInput::kClasses);
  }
};

MetricOptions sample_options() {
  MetricOptions options;
  options.tags = {"O", "B-PER"};
  options.resampling_seed = 1;
  return options;
}

}  // namespace

TEST_CASE("every metric reports the keys that the table promises, the deciding one among them") {
  const SampleBatches sample;
  std::set<std::string_view> names;
  for (const MetricEntry& entry : metric_table()) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    const auto metric = make_metric(entry.name, sample_options());
    AnswerBatch questions{sample.texts, {}, sample.references, {}};  // one of them without an answer
    metric->add(entry.name == "squad_v2" ? MetricBatch(questions) : sample.of(entry.input));
    std::vector<std::string_view> keys;
    const MetricResults results = metric->compute();
    for (const auto& [key, value] : results) keys.push_back(key);
    CHECK(keys == entry.keys);
    CHECK(std::count(keys.begin(), keys.end(), entry.best) == 1);
  }
}

TEST_CASE("a metric keeps for an example as many bytes as the table says, and no more") {
  const SampleBatches sample;
  for (const MetricEntry& entry : metric_table()) {
    INFO(entry.name);
    const auto metric = make_metric(entry.name, sample_options());
    metric->add(sample.of(entry.input));
    const size_t after_one_batch = metric->state().size();
    for (int i = 0; i < 100; ++i) metric->add(sample.of(entry.input));
    CHECK((metric->state().size() - after_one_batch) * sizeof(double) ==
          static_cast<size_t>(200 * bytes_per_example(entry.name, sample_options())));
  }
  CHECK(bytes_per_example("rouge") == 0);  // plain means
}

TEST_CASE("a metric refuses batches of another kind and states that are not its own") {
  const SampleBatches sample;
  const std::vector<double> crooked(5 * 7 * 11 * 13, 1e9);
  for (const MetricEntry& entry : metric_table()) {
    INFO(entry.name);
    const auto metric = make_metric(entry.name, sample_options());
    CHECK_THROWS_AS(metric->add(sample.other_than(entry.input)), std::invalid_argument);
    CHECK_THROWS_AS(metric->merge(crooked), std::invalid_argument);
  }
  const std::vector<int64_t> one{1}, two{1, 2};
  CHECK_THROWS_AS(make_metric("accuracy")->add(ClassBatch{one, two}), std::invalid_argument);
  CHECK_THROWS_AS(make_metric("seqeval"), std::invalid_argument);
}

TEST_CASE("an unknown metric is refused with the nearest names") {
  try {
    find_metric("acuracy");
    FAIL("it was found");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.render(), Catch::Contains("did you mean accuracy?"));
    CHECK_THAT(error.render(), Catch::Contains("sacrebleu"));
  }
}

TEST_CASE("a smaller error is better, a larger anything else") {
  for (const MetricEntry& entry : metric_table()) {
    INFO(entry.name);
    CHECK(entry.greater_is_better == (entry.name != "mse"));
  }
}

}  // namespace hftrain::metrics
