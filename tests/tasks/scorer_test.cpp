// Scorers of classes and tokens: what they make of outputs, and that ranks and batches make no difference.
#include "hftrain/tasks/scorer.h"

#include <cmath>
#include <map>

#include "hftrain/base/error.h"
#include "hftrain/tasks/class_scorer.h"
#include "hftrain/tasks/extra_scorer.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/tasks/token_scorer.h"
#include "support/catch.h"

namespace hftrain::tasks {
namespace {

using Ids = std::vector<int64_t>;
using Scores = std::vector<float>;

// Samples with what was said of them and, unless empty, what is right.
struct Judged {
  Ids samples;
  Ids ids, right_ids;
  Scores scores, right_scores;
  std::vector<int64_t> sizes = {};  // of a row
};

void add(Scorer& scorer, const Judged& rows) {
  OutputBatch batch{
      .samples = rows.samples,
      .output = {.name = "output", .sizes = rows.sizes, .ids = rows.ids, .scores = rows.scores}};
  if (!rows.right_ids.empty() || !rows.right_scores.empty())
    batch.labels.push_back(
        {.name = "labels", .sizes = rows.sizes, .ids = rows.right_ids, .scores = rows.right_scores});
  scorer.add(batch);
}

std::map<std::string, double> results_of(const Scorer& scorer) {
  const metrics::MetricResults results = scorer.results();
  return {results.begin(), results.end()};
}

Json labels_json(const char* kind, const std::vector<std::string>& names) {
  return {{"kind", kind}, {"names", names}};
}

// The scorer that the worker would make, by way of the options in the plan.
std::unique_ptr<Scorer> scorer_of(const char* metric, const Json& labels, bool writes = true,
                                  data::Split split = data::Split::kTest) {
  const Scoring scoring = class_scoring({metric, LabelSet::from_json(labels), "predictions.txt"});
  static const Json config = Json::object();
  static std::vector<std::unique_ptr<Json>> options;  // must outlive what refers to it
  options.push_back(std::make_unique<Json>(scoring.options));
  return make_class_scorer(
      {.options = *options.back(), .model_config = config, .split = split, .writes = writes});
}

const Json kThree = labels_json("classes", {"bad", "fair", "good"});

}  // namespace

TEST_CASE("classes are judged and written by name, in the order of samples, whatever rank they were on") {
  const auto first = scorer_of("accuracy", kThree), second = scorer_of("accuracy", kThree),
             whole = scorer_of("accuracy", kThree);
  add(*first, {.samples = {0, 1}, .ids = {2, 0}, .right_ids = {2, 1}});
  add(*first, {.samples = {4}, .ids = {1}, .right_ids = {1}});
  add(*second, {.samples = {2, 3}, .ids = {0, 2}, .right_ids = {1, 2}});
  whole->merge(second->state());
  whole->merge(first->state());
  CHECK(results_of(*whole).at("accuracy") == Approx(3.0 / 5));
  const std::vector<ResultFile> files = whole->files("predict");
  REQUIRE(files.size() == 1);
  CHECK(files[0].name == "predictions.txt");
  CHECK(files[0].text == "index\tprediction\n0\tgood\n1\tbad\n2\tbad\n3\tgood\n4\tfair\n");
  CHECK(whole->files("eval").empty());
}

TEST_CASE("predictions are kept only where they are going to be written") {
  for (const bool writes : {false, true}) {
    const auto scorer = scorer_of("accuracy", kThree, writes);
    const size_t before = scorer->state().size();
    add(*scorer, {.samples = {0, 1, 2}, .ids = {0, 1, 2}, .right_ids = {0, 1, 2}});
    CHECK(scorer->state().size() - before == (writes ? 6 : 0));
  }
  const auto validation = scorer_of("accuracy", kThree, true, data::Split::kValidation);
  const size_t before = validation->state().size();
  add(*validation, {.samples = {0}, .ids = {0}, .right_ids = {0}});
  CHECK(validation->state().size() == before);
}

TEST_CASE("a regression is judged by its numbers, written with three digits") {
  const auto scorer = scorer_of("mse", labels_json("regression", {}));
  add(*scorer, {.samples = {0, 1}, .scores = {0.5F, -1.25F}, .right_scores = {0.0F, -1.0F}, .sizes = {1}});
  CHECK(results_of(*scorer).at("mse") == Approx((0.25 + 0.0625) / 2));
  CHECK(scorer->files("predict")[0].text == "index\tprediction\n0\t0.500\n1\t-1.250\n");
}

TEST_CASE("several labels at once are judged label by label and written as a list") {
  const auto scorer = scorer_of("f1", labels_json("multi_label", {"it's", "new", "old"}));
  add(*scorer, {.samples = {0, 1},
                .scores = {1.0F, -1.0F, 0.5F, -2.0F, -1.0F, -0.1F},
                .right_scores = {1, 0, 0, 0, 1, 0},
                .sizes = {3}});
  // One right 1, one too many, one missed.
  CHECK(results_of(*scorer).at("f1") == Approx(0.5));
  CHECK(scorer->files("predict")[0].text == "index\tprediction\n0\t[\"it's\", 'old']\n1\t[]\n");
}

TEST_CASE("without labels predictions are written all the same") {
  const auto scorer = scorer_of("accuracy", kThree);
  add(*scorer, {.samples = {1, 0}, .ids = {0, 1}});
  CHECK(scorer->files("predict")[0].text == "index\tprediction\n0\tfair\n1\tbad\n");
}

TEST_CASE("states that no such scorer has given are refused") {
  const auto scorer = scorer_of("accuracy", kThree);
  CHECK_THROWS_AS(scorer->merge(std::vector<double>{}), std::invalid_argument);
  CHECK_THROWS_AS(scorer->merge(std::vector<double>{5, 1}), std::invalid_argument);
  CHECK_THROWS_AS(scorer->merge(std::vector<double>{2, 1, 1, 7}), std::invalid_argument);
}

TEST_CASE("tokens are judged against their own labels or against those of the next place") {
  const Judged rows{
      .samples = {0, 1}, .ids = {5, 6, 7, 1, 2, 9}, .right_ids = {4, 5, 6, 1, -100, 2}, .sizes = {3}};
  // 5 6 | 5 6 and 1 2 | -100 2
  const auto next = make_token_scorer(Predicts::kNextToken);
  add(*next, rows);
  CHECK(results_of(*next).at("accuracy") == Approx(3.0 / 3));
  // 5 6 7 | 4 5 6 and 1 _ 9 | 1 _ 2
  const auto same = make_token_scorer(Predicts::kSameToken);
  add(*same, rows);
  CHECK(results_of(*same).at("accuracy") == Approx(1.0 / 5));
  const auto both = make_token_scorer(Predicts::kSameToken);
  both->merge(same->state());
  both->merge(same->state());
  CHECK(both->state() == std::vector<double>{2, 10});
}

TEST_CASE("inputs and losses are judged beside a task's own metrics, and merge") {
  const auto make = [] { return with_extra_metrics(make_token_scorer(Predicts::kSameToken), {true, true}); };
  const Ids samples = {0, 1}, ids = {1, 2, 3, 4}, mask = {1, 1, 1, 0};
  const Scores first = {1.0F, 1.0F}, second = {2.0F, 4.0F};
  OutputBatch batch{.samples = samples, .output = {.name = "output", .sizes = {2}, .ids = ids}};
  batch.labels.push_back({.name = "labels", .sizes = {2}, .ids = ids});
  batch.inputs.push_back({.name = "input_ids", .sizes = {2}, .ids = ids});
  batch.losses = first;
  const auto one = make(), two = make(), whole = make();
  one->add(batch);
  batch.inputs.push_back({.name = "attention_mask", .sizes = {2}, .ids = mask});
  batch.losses = second;
  two->add(batch);
  whole->merge(one->state());
  whole->merge(two->state());
  const auto results = results_of(*whole);
  CHECK(results.at("accuracy") == 1);
  CHECK(results.at("input_tokens") == 4 + 3);
  CHECK(results.at("loss_std") == Approx(std::sqrt((1 + 1 + 0 + 4) / 4.0)));  // of 1, 1, 2, 4 around 2
  CHECK(ExtraMetrics{true, true}.names() == std::vector<std::string>{"input_tokens", "loss_std"});
  CHECK(with_extra_metrics(make_token_scorer(Predicts::kSameToken), {})->state().size() == 2);
  CHECK_THROWS_AS(whole->merge(std::vector<double>{1, 2}), std::invalid_argument);
}

TEST_CASE("every task of GLUE has its metrics, and rows of one's own go by their labels") {
  struct Case {
    std::optional<std::string> task_name;
    Json labels;
    std::vector<std::string> metrics;
    OutputForm form;
    std::string file;
  };
  const Json two = labels_json("classes", {"0", "1"}), numbers = labels_json("regression", {});
  const std::vector<std::string> pair = {"accuracy", "f1", "combined_score"};
  const Case cases[] = {
      {"cola", two, {"matthews_correlation"}, OutputForm::kBestIds, "predict_results_cola.txt"},
      {"MRPC", two, pair, OutputForm::kBestIds, "predict_results_mrpc.txt"},
      {"qqp", two, pair, OutputForm::kBestIds, "predict_results_qqp.txt"},
      {"stsb",
       numbers,
       {"pearson", "spearmanr", "combined_score"},
       OutputForm::kScores,
       "predict_results_stsb.txt"},
      {"mnli", kThree, {"accuracy"}, OutputForm::kBestIds, "predict_results_mnli.txt"},
      {std::nullopt, kThree, {"accuracy"}, OutputForm::kBestIds, "predict_results.txt"},
      {std::nullopt, numbers, {"mse"}, OutputForm::kScores, "predict_results.txt"},
      {std::nullopt,
       labels_json("multi_label", {"a", "b"}),
       {"f1"},
       OutputForm::kScores,
       "predict_results.txt"}};
  for (const Case& one : cases) {
    arguments::Arguments arguments;
    arguments.data.task_name = one.task_name;
    const Scoring scoring =
        row_of(Task::kTextClassification)
            .scoring({.arguments = arguments, .model_config = Json::object()}, one.labels);
    CAPTURE(one.file);
    CHECK(scoring.metrics == one.metrics);
    CHECK(scoring.outputs == one.form);
    CHECK(scoring.options.at("predictions_file") == one.file);
  }
  arguments::Arguments arguments;
  arguments.data.task_name = "mrpc";
  const TaskInput input{.arguments = arguments, .model_config = Json::object()};
  CHECK_THROWS_WITH(row_of(Task::kTextClassification).scoring(input, numbers), Catch::Contains("mrpc"));
  arguments.data.task_name.reset();
  CHECK(row_of(Task::kTextClassification).scoring(input, Json()).metrics ==
        std::vector<std::string>{"accuracy", "mse", "f1"});
}

}  // namespace hftrain::tasks
