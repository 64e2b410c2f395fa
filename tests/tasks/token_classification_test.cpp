// Files to batches, against what the packages of the example script made of the same files
// (scripts/golden/token_classification.py), and what is refused.
#include <algorithm>

#include "hftrain/tasks/tag_encoder.h"
#include "task_fixture.h"

namespace hftrain::tasks {
namespace {

using Catch::Contains;
using testing::integers_of;
using testing::open_split;
using testing::TaskFixture;

const Json& tag_golden() {
  static const Json document = testing::golden_document("token_classification.json");
  return document;
}

struct TagFixture : TaskFixture {
  explicit TagFixture(const std::string& tokenizer = "pieces")
      : TaskFixture(token_classification(), tag_golden()["tokenizers"][tokenizer]["tokenizer"],
                    tag_golden()["tokenizers"][tokenizer]["config"]) {}
};

constexpr const char* kTwoRows =
    "{\"tokens\": [\"Ada\", \"ran\"], \"ner_tags\": [\"B-PER\", \"O\"]}\n"
    "{\"tokens\": [\"in\", \"Paris\"], \"ner_tags\": [\"O\", \"B-LOC\"]}\n";

void set_model_labels(TaskInput& input, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    input.model_config["label2id"][names[i]] = i;
    input.model_config["id2label"][std::to_string(i)] = names[i];
  }
}

void set_flags(const Json& entry, TaskFixture& fixture) {
  arguments::DataArguments& asked = fixture.arguments.data;
  if (entry.contains("task_name")) asked.task_name = entry["task_name"];
  if (entry.contains("text_column_name")) asked.text_column_name = entry["text_column_name"];
  if (entry.contains("label_column_name")) asked.label_column_name = entry["label_column_name"];
  if (entry.contains("max_seq_length")) asked.max_seq_length = entry["max_seq_length"];
  if (entry.contains("pad_to_max_length")) fixture.input.pad_to_max_length = entry["pad_to_max_length"];
  asked.label_all_tokens = entry.value("label_all_tokens", false);
  fixture.input.pads_on_left = entry.value("pads_on_left", false);
  if (entry.contains("model_labels")) set_model_labels(fixture.input, entry["model_labels"]);
}

TEST_CASE("words, tags and batches equal those that the packages of the example script make of the files") {
  for (const Json& entry : tag_golden().at("cases")) {
    CAPTURE(entry.at("name").get<std::string>());
    const auto tokenizer = entry.value("tokenizer", std::string("pieces"));
    TagFixture fixture(tokenizer);
    set_flags(entry, fixture);
    fixture.input.spaces_words = tokenizer != "pieces";
    if (!entry["batch"].contains("token_type_ids")) fixture.input.model_config["type_vocab_size"] = 0;
    const data::PreparedData prepared = fixture.prepare(fixture.request("rows.jsonl", entry["content"]));
    CHECK(prepared.facts["tags"] == entry["labels"]);
    const auto dataset = open_split(prepared.train);
    const auto collator = data::padding_collator(fixture.row.padding(fixture.input, prepared.facts));
    const auto batch = testing::matrices_of(*collator, *dataset, testing::all_samples_of(*dataset));
    CHECK(batch.size() == entry["batch"].size());
    for (const auto& [name, rows] : batch) {
      CAPTURE(name);
      CHECK(Json(rows) == entry["batch"][name]);
    }
    const Json changes = fixture.row.config_changes(prepared.facts);
    CHECK(changes["id2label"]["1"] == entry["labels"][1]);
    CHECK(changes["label2id"][entry["labels"][1].get<std::string>()] == 1);
  }
}

TEST_CASE("lists in cells of a .csv file are JSON text") {
  TagFixture fixture;
  const std::string lines =
      "tokens,ner_tags\n\"[\"\"Ada\"\", \"\"ran\"\"]\",\"[\"\"B-PER\"\", \"\"O\"\"]\"\n"
      "\"[\"\"in\"\", \"\"Paris\"\"]\",\"[\"\"O\"\", \"\"B-LOC\"\"]\"\n";
  const auto of_csv = open_split(fixture.prepare(fixture.request("a.csv", lines)).train);
  const auto of_json = open_split(fixture.prepare(fixture.request("a.jsonl", kTwoRows)).train);
  for (const char* column : {"input_ids", "labels"}) {
    CHECK(integers_of(*of_csv, column, 0) == integers_of(*of_json, column, 0));
    CHECK(integers_of(*of_csv, column, 1) == integers_of(*of_json, column, 1));
  }
  CHECK_THAT(fixture.refusal(fixture.request("b.csv", "tokens,ner_tags\nAda ran,B-PER O\n"), ExitCode::kData),
             Contains("b.csv:2") && Contains("no JSON array") && Contains(R"(["B-PER", "O"])"));
}

TEST_CASE("whole numbers are the numbers of the tags") {
  TagFixture fixture;
  const auto rows = [](const std::string& tags) {
    return R"({"tokens": ["Ada", "ran"], "ner_tags": )" + tags + "}\n";
  };
  const data::PreparedData prepared = fixture.prepare(fixture.request("a.jsonl", rows("[3, 0]")));
  CHECK(prepared.facts["tags"] == Json({"0", "1", "2", "3"}));
  const auto labels = integers_of(*open_split(prepared.train), "labels", 0);
  CHECK(std::find(labels.begin(), labels.end(), 3) != labels.end());
  CHECK_THAT(fixture.refusal(fixture.request("b.jsonl", rows("[1, -1]")), ExitCode::kData),
             Contains("it is -1") && Contains("b.jsonl:1"));
  CHECK_THAT(fixture.refusal(fixture.request("c.jsonl", rows("[1, 70000]")), ExitCode::kData),
             Contains("it is 70000"));
  CHECK_THAT(
      fixture.refusal(fixture.request("d.jsonl", rows("[1, 0]") + rows(R"(["O", "O"])")), ExitCode::kData),
      Contains("d.jsonl:2") && Contains("it is a string"));
  data::PrepareRequest request = fixture.request("e.jsonl", rows("[1, 0]"));
  write_file_atomically(fixture.folder / "dev.jsonl", rows("[2, 0]"));
  request.validation_files = {fixture.folder / "dev.jsonl"};
  CHECK_THAT(fixture.refusal(request, ExitCode::kData), Contains("dev.jsonl:1") && Contains("it is '2'"));
}

TEST_CASE("a run of tags that does not train keeps the labels of its model") {
  TagFixture fixture;
  set_model_labels(fixture.input, {"O", "B-PER", "B-LOC"});
  fixture.input.trains = false;
  data::PrepareRequest request = fixture.request("dev.jsonl", kTwoRows);
  request.survey_files.clear();
  request.validation_files.swap(request.train_files);
  const data::PreparedData prepared = fixture.prepare(request);
  CHECK(prepared.facts["tags"] == Json({"O", "B-PER", "B-LOC"}));
}

TEST_CASE("a run of tags that does not train counts the tags of a model that names none") {
  TagFixture fixture;
  set_model_labels(fixture.input, {"LABEL_0", "LABEL_1", "LABEL_2"});
  fixture.input.trains = false;
  data::PrepareRequest request = fixture.request("dev.jsonl", R"({"tokens": ["a", "b"], "ner_tags": [2, 0]})"
                                                              "\n");
  request.survey_files.clear();
  request.validation_files.swap(request.train_files);
  CHECK(fixture.prepare(request).facts["tags"] == Json({"0", "1", "2"}));
}

// The test split of two rows that were tagged for training and are to be predicted.
data::PreparedData predicted(TagFixture& fixture, const std::string& name, const std::string& content) {
  data::PrepareRequest request = fixture.request("train.jsonl", kTwoRows);
  write_file_atomically(fixture.folder / name, content);
  request.test_files = {fixture.folder / name};
  return fixture.prepare(request);
}

TEST_CASE("rows to be predicted need no tags, and nothing is judged there") {
  TagFixture fixture;
  const auto tagged = open_split(predicted(fixture, "tagged.jsonl", kTwoRows).test);
  const std::string words = "{\"tokens\": [\"Ada\", \"ran\"]}\n{\"tokens\": [\"in\", \"Paris\"]}\n";
  for (const std::string& content : {words, std::string(R"({"id": "x", "tokens": ["Ada", "ran"]})") + '\n' +
                                                R"({"id": "y", "tokens": ["in", "Paris"]})" + '\n'}) {
    const auto bare = open_split(predicted(fixture, "bare.jsonl", content).test);
    REQUIRE(bare->size() == 2);
    for (const int64_t sample : {0, 1}) {
      CHECK(integers_of(*bare, "input_ids", sample) == integers_of(*tagged, "input_ids", sample));
      const auto starts = integers_of(*bare, kWordStarts, sample);
      CHECK(starts == integers_of(*tagged, kWordStarts, sample));
      CHECK(std::count(starts.begin(), starts.end(), 1) == 2);
      for (const int64_t label : integers_of(*bare, "labels", sample)) CHECK(label == -100);
    }
  }
  fixture.arguments.data.label_column_name =
      "marks";  // none of the file's: its second column is not taken for it
  const std::string marked = R"({"tokens": ["Ada"], "marks": ["O"]})" + std::string("\n") +
                             R"({"tokens": ["Ada"], "marks": ["B-PER"]})" + '\n';
  data::PrepareRequest request = fixture.request("marked.jsonl", marked);
  write_file_atomically(fixture.folder / "source.jsonl", R"({"tokens": ["Ada"], "source": "a book"})"
                                                         "\n");
  request.test_files = {fixture.folder / "source.jsonl"};
  CHECK(open_split(fixture.prepare(request).test)->size() == 1);
}

TEST_CASE("predictions are of the first tokens of words, on whichever side rows are padded") {
  TagFixture fixture;
  const data::PreparedData prepared = predicted(fixture, "rows.jsonl", kTwoRows);
  const auto dataset = open_split(prepared.test);
  const std::vector<int64_t> starts = integers_of(*dataset, kWordStarts, 1);
  const size_t padding = 3, length = starts.size() + padding;
  for (const bool on_left : {false, true}) {
    fixture.input.pads_on_left = on_left;
    const Scoring scoring = fixture.row.scoring(fixture.input, prepared.facts);
    const Json config = Json::object();
    const auto scorer = fixture.row.scorer({.options = scoring.options,
                                            .model_config = config,
                                            .dataset = dataset,
                                            .split = data::Split::kTest,
                                            .writes = true});
    std::vector<int64_t> ids(length, 0);  // B-LOC, B-PER, O
    for (size_t i = 0; i < starts.size(); ++i) ids[i + (on_left ? padding : 0)] = starts[i] == 1 ? 1 : 2;
    const std::vector<int64_t> samples = {1};
    scorer->add({.samples = samples,
                 .output = {.name = "output", .sizes = {static_cast<int64_t>(length)}, .ids = ids}});
    const auto files = scorer->files("predict");
    REQUIRE(files.size() == 1);
    CHECK(files[0].text == "B-PER B-PER\n");
  }
}

TEST_CASE("without a length the tokenizer and the model say how long a row of words may be") {
  TagFixture fixture;
  CHECK(fixture.row.longest(fixture.input) == 1024);
  fixture.input.model_positions = 64;
  CHECK(fixture.row.longest(fixture.input) == 64);
  fixture.input.tokenizer_max_length = 512;
  CHECK(fixture.row.longest(fixture.input) == 64);
  fixture.input.tokenizer_max_length = 32;
  CHECK(fixture.row.longest(fixture.input) == 32);
  fixture.arguments.data.max_seq_length = 16;
  CHECK(fixture.row.longest(fixture.input) == 16);
  fixture.arguments.data.max_seq_length = 48;
  CHECK(fixture.row.longest(fixture.input) == 32);
}

TEST_CASE("what changes the tokens or labels of words makes another cache entry") {
  TagFixture fixture;
  const auto entry = [&] { return fixture.prepare(fixture.request("a.jsonl", kTwoRows)).folder; };
  const std::string first = entry();
  CHECK(entry() == first);
  fixture.input.pad_to_max_length = true;
  CHECK(entry() == first);
  fixture.arguments.data.label_all_tokens = true;
  const std::string all = entry();
  CHECK(all != first);
  fixture.arguments.data.max_seq_length = 4;
  CHECK(entry() != all);
  fixture.arguments.data = {};
  set_model_labels(fixture.input, {"O", "B-PER", "B-LOC"});
  CHECK(entry() != first);
}

TEST_CASE("rows of words that cannot be learnt from are refused with their place") {
  TagFixture fixture;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    return fixture.refusal(fixture.request(name, content), ExitCode::kData);
  };
  const auto rows = [&](const std::string& words, const std::string& tags) {
    return std::string(kTwoRows) + "{\"tokens\": " + words + ", \"ner_tags\": " + tags + "}\n";
  };
  CHECK_THAT(refusal("a.jsonl", rows(R"(["a", "b", "c"])", R"(["O"])")),
             Contains("a.jsonl:3") && Contains("3 words, 1 tags") && Contains("not as many tags"));
  CHECK_THAT(refusal("b.jsonl", rows("[]", "[]")), Contains("b.jsonl:3") && Contains("no words"));
  CHECK_THAT(refusal("c.jsonl", rows(R"("a b")", R"(["O"])")),
             Contains("c.jsonl:3") && Contains("list of words"));
  CHECK_THAT(refusal("d.jsonl", rows("[\"a\", 3]", R"(["O", "O"])")),
             Contains("d.jsonl:3") && Contains("word 2 is a number"));
  CHECK_THAT(refusal("e.jsonl", rows(R"(["a"])", "[\"\"]")),
             Contains("e.jsonl:3") && Contains("it is empty"));
  CHECK_THAT(refusal("f.jsonl", rows(R"(["a"])", "null")), Contains("f.jsonl:3") && Contains("list of tags"));
  CHECK_THAT(refusal("g.jsonl", "{\"tokens\": [\"a\"], \"ner_tags\": [\"O\"]}\n"),
             Contains("all words have the tag O"));
  CHECK_THAT(refusal("h.jsonl", "{\"tokens\": [\"a\"]}\n"),
             Contains("no column with tags") && Contains("ner_tags"));
  CHECK_THAT(refusal("i.jsonl", "{\"id\": 1, \"tokens\": [\"a\"]}\n"),
             Contains("cannot hold the words and the tags both"));
  fixture.arguments.data.label_column_name = "marks";
  CHECK_THAT(refusal("j.jsonl", kTwoRows), Contains("no column 'marks'") && Contains("tokens, ner_tags"));
  fixture.arguments.data.label_column_name.reset();
  fixture.arguments.data.text_column_name = "words";
  CHECK_THAT(refusal("k.jsonl", kTwoRows), Contains("no column 'words'") && Contains("--text_column_name"));
}

}  // namespace
}  // namespace hftrain::tasks
