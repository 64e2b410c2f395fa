// Files to batches, against what the packages of the example script made of the same files
// (scripts/golden/text_classification.py).
#include "hftrain/arguments/glue_names.h"
#include "hftrain/tasks/glue_task.h"
#include "task_fixture.h"

namespace hftrain::tasks {
namespace {

using testing::all_samples_of;
using testing::integers_of;
using testing::open_split;

const Json& golden() {
  static const Json document = testing::golden_document("text_classification.json");
  return document;
}

// With the tokenizer of the golden cases.
struct ClassificationFixture : testing::TaskFixture {
  ClassificationFixture() : TaskFixture(text_classification(), golden().at("tokenizer")) {}
};

// A tensor of the batch as nested lists.
Json tensor_of(const data::Collator& collator, const data::Dataset& dataset,
               const std::vector<int64_t>& samples, const std::string& name) {
  const std::vector<data::TensorShape> shapes = collator.shapes(dataset, samples);
  std::vector<std::vector<int64_t>> memory(shapes.size());
  std::vector<void*> places;
  for (size_t i = 0; i < shapes.size(); ++i) {
    int64_t numbers = 1;
    for (const int64_t size : shapes[i].sizes) numbers *= size;
    memory[i].resize(static_cast<size_t>(numbers));
    places.push_back(memory[i].data());
  }
  collator.fill(dataset, samples, {}, places);
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].name != name) continue;
    const bool floats = shapes[i].type == data::TensorType::kFloat32;
    const auto* as_floats = static_cast<const float*>(places[i]);
    Json rows = Json::array();
    const auto columns = shapes[i].sizes.size() > 1 ? static_cast<size_t>(shapes[i].sizes[1]) : 1;
    for (size_t row = 0; row < samples.size(); ++row) {
      Json numbers = Json::array();
      for (size_t column = 0; column < columns; ++column) {
        const size_t place = row * columns + column;
        numbers.push_back(floats ? Json(as_floats[place]) : Json(memory[i][place]));
      }
      rows.push_back(shapes[i].sizes.size() > 1 ? numbers : numbers[0]);
    }
    return rows;
  }
  return nullptr;
}

TEST_CASE("batches and labels equal those that the packages of the example script make of the same files") {
  for (const Json& entry : golden().at("cases")) {
    CAPTURE(entry.at("name").get<std::string>());
    ClassificationFixture fixture;
    arguments::DataArguments& asked = fixture.arguments.data;
    if (entry.contains("task_name")) asked.task_name = entry["task_name"];
    if (entry.contains("max_seq_length")) asked.max_seq_length = entry["max_seq_length"];
    if (entry.contains("pad_to_max_length")) fixture.input.pad_to_max_length = entry["pad_to_max_length"];
    const data::PreparedData prepared = fixture.prepare(fixture.request(entry["file"], entry["content"]));
    const auto dataset = open_split(prepared.train);
    const std::vector<int64_t> samples = all_samples_of(*dataset);
    REQUIRE(samples.size() == entry["features"].size());
    const auto collator =
        data::padding_collator(text_classification().padding(fixture.input, prepared.facts));
    for (const char* name : {"input_ids", "attention_mask", "token_type_ids", "labels"}) {
      CAPTURE(name);
      CHECK(tensor_of(*collator, *dataset, samples, name) == entry["batch"][name]);
    }
    const Json changes = text_classification().config_changes(prepared.facts);
    if (!entry["config"]["label2id"].is_null()) {
      CHECK(changes["label2id"] == entry["config"]["label2id"]);
      CHECK(changes["id2label"] == entry["config"]["id2label"]);
    }
  }
}

TEST_CASE("a tokenizer that names its inputs says whether a model gets token types") {
  ClassificationFixture fixture;
  const Json facts = fixture.prepare(fixture.request("a.csv", "text,label\none,c\ntwo,b\n")).facts;
  const auto has_types = [&] {
    const data::PaddingOptions options = text_classification().padding(fixture.input, facts);
    return std::ranges::count(options.columns, "token_type_ids", &data::PaddedColumn::tensor) > 0;
  };
  CHECK(has_types());
  fixture.input.names_types = false;
  CHECK_FALSE(has_types());
}

TEST_CASE("the first rows are taken, but the labels are those of all") {
  ClassificationFixture fixture;
  data::PrepareRequest request = fixture.request("a.csv", "text,label\none,c\ntwo,b\nthree,a\nfour,d\n");
  request.max_train_samples = 2;
  const data::PreparedData prepared = fixture.prepare(request);
  CHECK(prepared.train->samples == 2);
  CHECK(prepared.facts["names"] == Json({"a", "b", "c", "d"}));
  const auto dataset = open_split(prepared.train);
  CHECK(integers_of(*dataset, "labels", 0) == std::vector<int64_t>{2});
  CHECK(integers_of(*dataset, "labels", 1) == std::vector<int64_t>{1});
}

TEST_CASE("test data need no labels, and validation data get the numbers of the training data") {
  ClassificationFixture fixture;
  data::PrepareRequest request = fixture.request("train.csv", "sentence1,sentence2,label\na,b,no\nc,d,yes\n");
  write_file_atomically(fixture.folder / "dev.jsonl",
                        R"({"label": "yes", "sentence2": "y", "sentence1": "x"})");
  write_file_atomically(fixture.folder / "test.csv", "sentence1,sentence2\ne,f\n");
  request.validation_files = {fixture.folder / "dev.jsonl"};
  request.test_files = {fixture.folder / "test.csv"};
  const data::PreparedData prepared = fixture.prepare(request);
  using Names = std::vector<std::string>;
  CHECK(prepared.validation->columns == Names{"input_ids", "token_type_ids", "labels"});
  CHECK(prepared.test->columns == Names{"input_ids", "token_type_ids"});
  const auto dev = open_split(prepared.validation);
  CHECK(integers_of(*dev, "labels", 0) == std::vector<int64_t>{1});
  CHECK(fixture.prepare(request).from_cache);
}

TEST_CASE("what changes features makes another cache entry, and padding does not") {
  ClassificationFixture fixture;
  const std::string content = "text,label\none,c\ntwo,b\n";
  const std::string first = fixture.prepare(fixture.request("a.csv", content)).folder;
  fixture.input.pad_to_max_length = false;
  CHECK(fixture.prepare(fixture.request("a.csv", content)).folder == first);
  fixture.arguments.data.max_seq_length = 4;
  CHECK(fixture.prepare(fixture.request("a.csv", content)).folder != first);
  data::PrepareRequest packed = fixture.request("a.csv", content);
  packed.recipe = data::packed_text("clm");
  packed.block_size = 2;
  CHECK(fixture.prepare(packed).folder != first);
}

TEST_CASE("a run that does not train takes the labels of its model") {
  ClassificationFixture fixture;
  fixture.input.model_config["label2id"] = {{"yes", 0}, {"no", 1}};
  fixture.input.trains = false;
  data::PrepareRequest request = fixture.request("dev.csv", "text,label\na,no\n");
  request.survey_files.clear();
  request.validation_files = request.train_files;
  request.train_files.clear();
  const data::PreparedData prepared = fixture.prepare(request);
  const auto dev = open_split(prepared.validation);
  CHECK(integers_of(*dev, "labels", 0) == std::vector<int64_t>{1});
  CHECK(text_classification().config_changes(prepared.facts)["label2id"] ==
        fixture.input.model_config["label2id"]);
}

TEST_CASE("a GLUE task keeps the numbers of a model that has its labels, and no other run does") {
  const Json of_model = {{"CONTRADICTION", 0}, {"NEUTRAL", 1}, {"ENTAILMENT", 2}};
  const std::string rows_of_glue =
      "premise,hypothesis,label\na,b,neutral\nc,d,entailment\ne,f,contradiction\ng,h,neutral\n";
  const auto labels_of = [&](const std::optional<std::string>& task, const Json& labels, bool trains,
                             const std::string& content) {
    ClassificationFixture fixture;
    fixture.arguments.data.task_name = task;
    fixture.input.model_config["label2id"] = labels;
    fixture.input.trains = trains;
    data::PrepareRequest request = fixture.request("rows.csv", content);
    if (!trains) request.survey_files.clear();
    const data::PreparedData prepared = fixture.prepare(request);
    const auto rows = open_split(prepared.train);
    std::vector<int64_t> found;
    for (int64_t row = 0; row < 4; ++row) found.push_back(integers_of(*rows, "labels", row).front());
    return found;
  };
  using Labels = std::vector<int64_t>;
  CHECK(labels_of("mnli", of_model, /*trains=*/true, rows_of_glue) == Labels{1, 2, 0, 1});
  CHECK(labels_of("MNLI", of_model, /*trains=*/false, rows_of_glue) == Labels{1, 2, 0, 1});
  // Sorted: what run_glue does with other labels, and with files of one's own.
  CHECK(labels_of("mnli", {{"no", 0}, {"perhaps", 1}, {"yes", 2}}, /*trains=*/true, rows_of_glue) ==
        Labels{2, 1, 0, 2});
  CHECK(labels_of({}, {{"neutral", 0}, {"contradiction", 1}, {"entailment", 2}}, /*trains=*/true,
                  rows_of_glue) == Labels{2, 1, 0, 2});
  const std::string capitals = "\na,b,NEUTRAL\nc,d,ENTAILMENT\ne,f,CONTRADICTION\ng,h,NEUTRAL\n";
  for (const bool trains : {true, false})
    CHECK(labels_of("mnli", of_model, trains, "premise,hypothesis,label" + capitals) == Labels{1, 2, 0, 1});
}

TEST_CASE(
    "a run that does not train counts the labels of a model that names none, and refuses one without a "
    "head") {
  ClassificationFixture fixture;
  fixture.input.trains = false;
  data::PrepareRequest request = fixture.request("dev.csv", "text,label\na,1\n");
  request.survey_files.clear();
  request.validation_files.swap(request.train_files);
  CHECK(fixture.prepare(request).facts["names"] == Json({"0", "1"}));
  fixture.input.has_head = false;
  try {
    text_classification().recipe(fixture.input);
    FAIL("it was taken");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(),
               Catch::Contains("the model has no labels") && Catch::Contains("not saved with the head"));
  }
  fixture.arguments.data.train_file = {"train.csv"};
  CHECK(text_classification().recipe(fixture.input).survey);  // these have labels
}

TEST_CASE("sequences are padded on the side of the tokenizer, and models without types get none") {
  ClassificationFixture fixture;
  fixture.input.pads_on_left = true;
  fixture.input.pad_id = 7;
  fixture.input.model_config = Json::object();
  fixture.arguments.data.max_seq_length = 6;
  const data::PreparedData prepared = fixture.prepare(fixture.request("a.csv", "text,label\nx,0\ny,1\n"));
  const auto dataset = open_split(prepared.train);
  const auto collator = data::padding_collator(text_classification().padding(fixture.input, prepared.facts));
  CHECK(tensor_of(*collator, *dataset, {0}, "attention_mask") == Json::parse("[[0, 0, 0, 1, 1, 1]]"));
  CHECK(tensor_of(*collator, *dataset, {0}, "input_ids")[0][2] == 7);
  CHECK(tensor_of(*collator, *dataset, {0}, "token_type_ids").is_null());
}

TEST_CASE("rows that cannot be learnt from are refused with their place") {
  using Catch::Contains;
  ClassificationFixture fixture;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    return fixture.refusal(fixture.request(name, content), ExitCode::kData);
  };
  CHECK_THAT(refusal("a.csv", "text,tag\nx,1\n"),
             Contains("no column 'label'") && Contains("a.csv:1") && Contains("text, tag"));
  CHECK_THAT(refusal("b.csv", "label\n1\n"), Contains("no column with text"));
  CHECK_THAT(refusal("c.jsonl", "{\"text\": \"x\", \"label\": 1}\n{\"text\": 3, \"label\": 0}\n"),
             Contains("c.jsonl:2") && Contains("it is a number"));
  data::PrepareRequest request = fixture.request("d.csv", "text,label\nx,0\ny,1\n");
  write_file_atomically(fixture.folder / "dev.csv", "text,label\nx,0\ny,2\n");
  request.validation_files = {fixture.folder / "dev.csv"};
  CHECK_THAT(fixture.refusal(request, ExitCode::kData), Contains("dev.csv:3") && Contains("'2'"));
  fixture.arguments.data.task_name = "mnli";
  CHECK_THAT(refusal("e.csv", "premise,label\nx,1\ny,2\n"), Contains("no column 'hypothesis'"));
  fixture.arguments.data.task_name = "poetry";
  try {
    fixture.request("f.csv", "");
    FAIL("there is such a task");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_THAT(error.render(), Contains("cola, mnli, mrpc"));
  }
}

}  // namespace
TEST_CASE("names of GLUE that stand for their data are those of the task") {
  for (const std::string_view name : arguments::kGlueNames)
    CHECK(glue_task_named(std::string(name)).name == name);
}

}  // namespace hftrain::tasks
