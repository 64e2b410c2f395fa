#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/metrics/metric_table.h"
#include "metrics/in_parts.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::metrics {
namespace {

using Texts = std::vector<std::string>;

double value_of(const MetricResults& results, const std::string& key) {
  for (const auto& [name, value] : results) {
    if (name == key) return value;
  }
  FAIL("no result " + key);
  return 0;
}

}  // namespace

TEST_CASE("references of -100 do not count") {
  const std::vector<int64_t> predictions{1, 0, 1, 0}, references{1, -100, 0, -100};
  CHECK(in_parts("accuracy", {}, ClassBatch{predictions, references})[0].second == 0.5);
  CHECK(in_parts("f1", {}, ClassBatch{predictions, references})[0].second == Approx(2.0 / 3));
}

TEST_CASE("nothing evaluated is not a number, and not a crash") {
  MetricOptions options;
  options.tags = {"O", "B-PER"};
  for (const MetricEntry& entry : metric_table()) {
    INFO(entry.name);
    for (const auto seed : {std::optional<uint32_t>(), std::optional<uint32_t>(3)}) {
      options.resampling_seed = seed;
      const MetricResults results = make_metric(entry.name, options)->compute();
      const double best = value_of(results, std::string(entry.best));
      const bool counts = entry.name == "seqeval" || entry.name == "sacrebleu";
      CHECK((counts ? best == 0 : std::isnan(best)));
    }
  }
}

TEST_CASE("tags come as ids of one label list, and masked positions are no part of a sequence") {
  MetricOptions options;
  options.tags = {"O", "B-PER", "I-PER", "B-LOC"};
  const std::vector<int64_t> references{-100, 1, -100, 2, 0, /**/ 3, -100, /**/ 0, 1};
  const std::vector<int64_t> predictions{2, 1, 3, 2, 0, /**/ 0, 1, /**/ 0, 1};
  const std::vector<int64_t> lengths{5, 2, 2, 0};
  const TagBatch batch{predictions, references, lengths};

  const MetricResults results = in_parts("seqeval", options, batch);
  CHECK(value_of(results, "precision") == 1);
  CHECK(value_of(results, "recall") == Approx(2.0 / 3));
  CHECK(value_of(results, "f1") == Approx(0.8));
  CHECK(value_of(results, "accuracy") == Approx(5.0 / 6));

  options.entity_level = true;
  const MetricResults by_type = in_parts("seqeval", options, batch);
  CHECK(value_of(by_type, "PER_f1") == 1);
  CHECK(value_of(by_type, "PER_number") == 2);
  CHECK(value_of(by_type, "LOC_recall") == 0);
  CHECK(value_of(by_type, "overall_f1") == Approx(0.8));
  CHECK(value_of(by_type, "overall_accuracy") == Approx(5.0 / 6));
}

TEST_CASE("rows of tags that no entity begins are one sequence, whatever rank has them") {
  MetricOptions options;
  options.tags = {",", "NNP", "O"};
  options.entity_level = true;
  const std::vector<std::vector<int64_t>> references{{1, 0}, {0, 1}, {0, 1, 0}, {2}, {0, 1}};
  const std::vector<std::vector<int64_t>> predictions{{1, 0}, {0, 1}, {0, 0, 1}, {2}, {0, 1}};
  const auto add = [&](Metric& metric, size_t row) {
    const std::vector<int64_t> lengths{static_cast<int64_t>(references[row].size())},
        places{static_cast<int64_t>(row)};
    metric.add(TagBatch{predictions[row], references[row], lengths, places});
  };
  const auto one = make_metric("seqeval", options), all = make_metric("seqeval", options);
  for (size_t row = 0; row < references.size(); ++row) add(*one, row);
  for (size_t rank = 3; rank-- > 0;) {
    const auto part = make_metric("seqeval", options);
    for (size_t row = rank; row < references.size(); row += 3) add(*part, row);
    all->merge(part->state());
  }
  CHECK(one->compute() == all->compute());
  // What seqeval 1.2.2 says of them.
  CHECK(value_of(one->compute(), "NP_f1") == Approx(0.75));
  CHECK(value_of(one->compute(), "__number") == 3);
  CHECK(value_of(one->compute(), "__f1") == Approx(2.0 / 3));
  CHECK(bytes_per_example("seqeval", options) == 32);
  options.tags = {"O", "B-PER", "I-PER"};
  CHECK(bytes_per_example("seqeval", options) == 0);
}

TEST_CASE("a tag id outside of the label list is an error of the data") {
  MetricOptions options;
  options.tags = {"O"};
  const std::vector<int64_t> wrong{1}, right{0}, lengths{1};
  CHECK_REFUSED(make_metric("seqeval", options)->add(TagBatch{right, wrong, lengths}), "label 1 is no tag");
  CHECK_REFUSED(make_metric("seqeval", options)->add(TagBatch{wrong, right, lengths}), "label 1 is no tag");
}

TEST_CASE("generated lengths give gen_len, rounded as the scripts do") {
  const Texts predictions{"a", "b", "c"};
  const std::vector<Texts> references{{"a"}, {"b"}, {"c"}};
  const std::vector<int64_t> lengths{1, 1, 3};
  const TextBatch batch{predictions, references, {}, lengths};
  MetricOptions options;
  CHECK(value_of(in_parts("rouge", options, batch), "gen_len") == Approx(5.0 / 3).epsilon(1e-12));
  options.resampling_seed = 1;
  CHECK(value_of(in_parts("rouge", options, batch), "gen_len") == Approx(5.0 / 3).epsilon(1e-12));
  CHECK(value_of(in_parts("sacrebleu", options, batch), "gen_len") == 1.6667);
}

TEST_CASE("the order of examples is that of their places, whatever the order of ranks") {
  Texts predictions;
  std::vector<Texts> references;
  std::vector<int64_t> places;
  for (int i = 0; i < 20; ++i) {
    predictions.push_back(std::string(i % 3 == 0 ? "cat " : "dog ") + (i % 2 == 0 ? "sat" : "ran"));
    references.push_back({i % 5 == 0 ? "cat sat" : "dog sat on it"});
    places.push_back(i);
  }
  MetricOptions options;
  options.resampling_seed = 42;
  const auto in_order = make_metric("rouge", options);
  in_order->add(TextBatch{predictions, references, {}, {}});
  const auto backwards = make_metric("rouge", options);
  for (size_t i = predictions.size(); i-- > 0;) {
    const auto one = make_metric("rouge", options);
    one->add(TextBatch{{&predictions[i], 1}, {&references[i], 1}, {&places[i], 1}, {}});
    backwards->merge(one->state());
  }
  CHECK(in_order->compute() == backwards->compute());
}

TEST_CASE("SQuAD 1.1 refuses a question without an answer, and BLEU an example without a reference") {
  const Texts predictions{"a"};
  const std::vector<Texts> references{{}};
  CHECK_REFUSED(make_metric("squad")->add(AnswerBatch{predictions, {}, references, {}}),
                "a question of the evaluation data has no answer");
  CHECK_REFUSED(make_metric("sacrebleu")->add(TextBatch{predictions, references, {}, {}}),
                "an example has no reference to compare its prediction with");
}

}  // namespace hftrain::metrics
