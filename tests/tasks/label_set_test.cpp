#include "hftrain/tasks/label_set.h"

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/data_files.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::tasks {
namespace {

using Kind = LabelSet::Kind;

// Labels as a .jsonl file holds them, one a row.
struct LabelFile {
  testing::TemporaryDirectory folder;
  std::string path = folder / "labels.jsonl";

  explicit LabelFile(const std::vector<std::string>& labels) {
    std::string lines;
    for (const std::string& label : labels) lines += "{\"label\": " + label + "}\n";
    write_file_atomically(path, lines);
  }
  std::unique_ptr<data::RowSource> rows() const {
    const data::ColumnRule rule{
        .columns = 1,
        .choose = [](const std::vector<std::string>&) { return std::vector<std::string>{"label"}; },
        .text_only = false};
    return data::open_rows(data::find_data_files({path}, data::Split::kTrain).rows, {.columns = rule});
  }
  LabelSet labels(bool always_regression = false) const {
    return LabelSet::of_rows(*rows(), 1, 0, always_regression, [] { return false; }).value();
  }
  data::FeatureValues encoded(const LabelSet& set) const {
    data::Records records;
    const auto source = rows();
    while (source->next(records)) {
    }
    data::FeatureValues values;
    for (size_t row = 0; row < records.rows(); ++row) set.add(records, row, 0, values);
    return values;
  }
};

std::string refusal(const std::vector<std::string>& labels) {
  try {
    LabelFile(labels).labels();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
  return "";
}

TEST_CASE("labels are numbered in the order of their values, and strings in that of their characters") {
  const LabelFile numbers({"10", "9", "-3", "10"});
  CHECK(numbers.labels().to_json_value() ==
        Json::parse(R"({"kind": "classes", "names": ["-3", "9", "10"]})"));
  CHECK(numbers.encoded(numbers.labels()).integers == std::vector<int32_t>{2, 1, 0, 2});
  const LabelFile words({"\"10\"", "\"9\"", "\"B\"", "\"a\""});
  CHECK(words.encoded(words.labels()).integers == std::vector<int32_t>{0, 1, 2, 3});
  const LabelFile answers({"true", "false"});
  CHECK(answers.labels().to_json_value()["names"] == Json({"False", "True"}));
  CHECK(answers.encoded(answers.labels()).integers == std::vector<int32_t>{1, 0});
  CHECK(answers.encoded(LabelSet::named(Kind::kClasses, {"true", "false"})).integers ==
        std::vector<int32_t>{0, 1});
}

TEST_CASE("a fraction makes all labels numbers, and so does a task that says so") {
  const LabelFile file({"1", "2.5", "-3"});
  CHECK(file.labels().kind() == Kind::kRegression);
  CHECK(file.labels().size() == 1);
  CHECK(file.encoded(file.labels()).floats == std::vector<float>{1, 2.5F, -3});
  CHECK(LabelFile({"1", "2"}).labels(true).kind() == Kind::kRegression);
  CHECK(LabelFile({"1", "2"}).labels(false).kind() == Kind::kClasses);
}

TEST_CASE("a list holds any of the labels, each of which gets an output of its own") {
  const LabelFile file({R"(["b", "a"])", "[]", R"(["c"])"});
  const LabelSet labels = file.labels();
  CHECK(labels.kind() == Kind::kMultiLabel);
  CHECK(labels.size() == 3);
  const data::FeatureValues values = file.encoded(labels);
  CHECK(values.floats == std::vector<float>{1, 1, 0, 0, 0, 0, 0, 0, 1});
  CHECK(values.lengths == std::vector<int32_t>{3, 3, 3});
  CHECK(labels.config_changes()["problem_type"] == "multi_label_classification");
}

TEST_CASE("labels that cannot be learnt are refused, with the line where one stands") {
  using Catch::Contains;
  CHECK_THAT(refusal({}), Contains("no rows"));
  CHECK_THAT(refusal({"\"same\"", "\"same\""}), Contains("all rows have the label same"));
  CHECK_THAT(refusal({"1", "null"}), Contains("labels.jsonl:2") && Contains("it is null"));
  CHECK_THAT(refusal({"1", "\"\""}), Contains("labels.jsonl:2") && Contains("it is empty"));
  CHECK_THAT(refusal({"1", "[1]"}), Contains("labels.jsonl:2") && Contains("lists"));
  CHECK_THAT(refusal({"0.5", "\"x\"", "\"y\""}),
             Contains("labels.jsonl:2") && Contains("some labels are no numbers"));
  CHECK_THAT(refusal({"[[1]]"}), Contains("it is an array"));
}

TEST_CASE("a label that the set does not have is refused by its line, with those that it has") {
  const LabelSet labels = LabelFile({"\"yes\"", "\"no\""}).labels();
  try {
    LabelFile({"\"no\"", "\"maybe\""}).encoded(labels);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(),
               Catch::Contains("labels.jsonl:2") && Catch::Contains("'maybe'") && Catch::Contains("no, yes"));
  }
  CHECK_REFUSED(LabelFile({"\"no\""}).encoded(LabelFile({"0.5"}).labels()),
                "a row of a regression has no number as its label");
}

TEST_CASE("labels of a model are those that its config names, but not names that nobody gave") {
  const auto of = [](const char* config) { return LabelSet::of_config(Json::parse(config)); };
  CHECK(of(R"({"label2id": {"no": 1, "yes": 0}})")->to_json_value()["names"] == Json({"yes", "no"}));
  CHECK(of(R"({"problem_type": "regression", "label2id": {"LABEL_0": 0}})")->kind() == Kind::kRegression);
  CHECK(of(R"({"problem_type": "multi_label_classification", "label2id": {"a": 0, "b": 1}})")->kind() ==
        Kind::kMultiLabel);
  CHECK_FALSE(of(R"({"label2id": {"LABEL_0": 0, "LABEL_1": 1}})"));
  CHECK_FALSE(of(R"({"label2id": {"a": 0, "b": 2}})"));
  CHECK_FALSE(of(R"({"label2id": {"a": 0, "b": 0}})"));
  CHECK_FALSE(of(R"({"label2id": {"a": "0"}})"));
  CHECK_FALSE(of("{}"));
}

TEST_CASE("labels of a classifier that nobody named are counted") {
  const auto of = [](const char* config) { return LabelSet::counted_in(Json::parse(config)); };
  CHECK(of("{}")->to_json_value() == Json::parse(R"({"kind": "classes", "names": ["0", "1"]})"));
  CHECK(of(R"({"label2id": {"LABEL_0": 0, "LABEL_2": 2, "LABEL_1": 1}})")->names() ==
        std::vector<std::string>{"0", "1", "2"});
  CHECK(of(R"({"label2id": {"LABEL_0": 0}})")->kind() == Kind::kRegression);
  CHECK(of(R"({"problem_type": "multi_label_classification"})")->kind() == Kind::kMultiLabel);
  CHECK_FALSE(of(R"({"label2id": {"a": 0, "b": 2}})"));
  CHECK_FALSE(of(R"({"label2id": {"LABEL_0": 1, "LABEL_1": 0}})"));
}

TEST_CASE("what was found is the same when it is read back, and gives the same keys of config.json") {
  for (const auto& labels : {std::vector<std::string>{"\"x\"", "\"y\""}, {"0.5", "1"}, {"[1]", "[2, 3]"}}) {
    const LabelSet set = LabelFile(labels).labels();
    const LabelSet again = LabelSet::from_json(set.to_json_value());
    CHECK(again.to_json_value() == set.to_json_value());
    CHECK(again.config_changes() == set.config_changes());
    CHECK(again.kind() == set.kind());
  }
}

}  // namespace
}  // namespace hftrain::tasks
