// Tasks that plug-ins describe: what a description may say, and that its rows become what those of hftrain's own tasks become.
#include "hftrain/tasks/described_task.h"

#include <algorithm>
#include <utility>

#include "hftrain/tasks/continuation_encoder.h"
#include "hftrain/tasks/described_recipe.h"
#include "hftrain/tasks/label_set.h"
#include "support/refusal.h"
#include "task_fixture.h"

namespace hftrain::tasks {
namespace {

using testing::all_samples_of;
using testing::integers_of;
using testing::open_split;
using ListOfNames = std::vector<std::string>;

const Json& golden_tokenizer() {
  static const Json tokenizer = testing::golden_document("text_classification.json").at("tokenizer");
  return tokenizer;
}

// Pairs like those of GLUE, whose classes the rows say.
Json pairs() {
  return {{"name", "pairs"},
          {"head", "sequence_classification"},
          {"text", {"sentence1", "sentence2"}},
          {"labels", {{"column", "label"}, {"kind", "name"}}}};
}

Json with(Json description, const char* pointer, const Json& value) {
  description[Json::json_pointer(pointer)] = value;
  return description;
}

// Of a name of its own each time, as the process keeps tasks.
TaskRow row_of_description(Json description) {
  static int number = 0;
  description["name"] = "task-" + std::to_string(++number);
  add_described_task(description.dump(), "the test");
  return row_of(*task_named(description["name"].get<std::string>()));
}

struct DescribedFixture : testing::TaskFixture {
  explicit DescribedFixture(Json description)
      : TaskFixture(row_of_description(std::move(description)), golden_tokenizer()) {}
};

// Why and what to do.
std::string refusal_of(const std::string& text) {
  try {
    read_task_description(text, "/lib/mine.so");
  } catch (const Error& error) {
    const Diagnostic& said = error.diagnostics().front();
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(said.what == "the plug-in describes no task that can be trained");
    CHECK(said.where == "/lib/mine.so");
    return said.why + " | " + said.hint;
  }
  return "";
}

std::vector<float> floats_of(const data::Dataset& dataset, int64_t sample) {
  const data::ColumnFile& file = dataset.column("labels");
  std::vector<float> values(static_cast<size_t>(file.length(sample)));
  file.copy_to(sample, values.data());
  return values;
}

TEST_CASE("a description says all that a task is") {
  const TaskDescription task = read_task_description(R"({
    "name": "topic-tags", "head": "sequence_classification", "text": ["title", "body"], "truncation": "only_second",
    "labels": {"column": "topics", "kind": "names", "names": ["b", "a"]}, "max_length": 64, "padding": "max_length",
    "metric": "recall", "metrics": ["all_found", "surest"], "pipeline": "zero-shot-classification"})",
                                                     "the test");
  CHECK(task.name == "topic-tags");
  CHECK(task.head == architectures::Head::kSequenceClassification);
  CHECK(task.texts == ListOfNames{"title", "body"});
  CHECK(task.truncation == tokenizer::TruncationStrategy::kOnlySecond);
  CHECK(task.labels == TaskDescription::Labels::kNames);
  CHECK(task.label_columns == ListOfNames{"topics"});
  CHECK(task.names == ListOfNames{"b", "a"});
  CHECK(task.max_length == 64);
  CHECK(task.pads_to_length);
  CHECK(task.metric == "recall");
  CHECK(task.metrics == ListOfNames{"all_found", "surest"});
  CHECK(task.pipeline == "zero-shot-classification");
  const TaskDescription least = read_task_description(pairs().dump(), "the test");
  CHECK(least.max_length == 128);
  CHECK_FALSE(least.pads_to_length);
  CHECK(least.metric == "accuracy");
  CHECK(least.metrics.empty());
  CHECK_FALSE(least.keeps_scores);
  CHECK(least.pipeline == "text-classification");
}

TEST_CASE("each key of a description is refused in words when it says what cannot be") {
  struct Case {
    const char* pointer;
    Json value;
    const char* said;
  };
  const Json numbers = {{"column", {"x", "y"}}, {"kind", "numbers"}};
  for (const Case& one : std::vector<Case>{
           {"/name", "Topic tags", "its key 'name' is \"Topic tags\" | a word of a to z, 0 to 9, - and _"},
           {"/name", 3, "its key 'name' is 3 | a text"},
           {"/head", "masked_lm",
            "its key 'head' is \"masked_lm\" | one of sequence_classification, token_classification, "
            "causal_lm"},
           {"/text", Json::array(), "its key 'text' is a list of 0 | 1 to 2 texts"},
           {"/text", {"a", "b", "c"}, "its key 'text' is a list of 3 | 1 to 2 texts"},
           {"/text", {"a", "a"}, "its key 'text' is [\"a\",\"a\"] | each text once"},
           {"/labels", "label", "its key 'labels' is \"label\" | {\"column\": \"…\", \"kind\": \"…\"}"},
           {"/labels/kind", "text",
            "its key 'labels.kind' is \"text\" | of the head sequence_classification: name, "
            "names, number, numbers"},
           {"/labels/column", {"a", "b"}, "its key 'labels.column' is a list of 2 | one text"},
           {"/labels/column", "sentence1",
            "its key 'labels.column' is \"sentence1\" | another column than that of the text"},
           {"/labels/names", {"one"}, "its key 'labels.names' is [\"one\"] | two names at least"},
           {"/labels/size", 2, "there is no key 'labels.size' | the keys are column, kind, names"},
           {"/labels",
            {{"column", "x"}, {"kind", "number"}, {"names", {"a"}}},
            "its key 'labels.names' is [\"a\"] | leave it out: these labels have no names"},
           {"/labels",
            {{"column", "x"}, {"kind", "numbers"}},
            "it lacks the key 'labels.names' | a name for each number of the list, or in 'labels.column' a "
            "column for "
            "each"},
           {"/labels/kind", nullptr, "its key 'labels.kind' is null | a text"},
           {"/max_length", 1, "its key 'max_length' is 1 | a number of tokens, from 2 on"},
           {"/max_length", "64", "its key 'max_length' is \"64\" | a number of tokens, from 2 on"},
           {"/padding", "left", "its key 'padding' is \"left\" | longest (of the batch) or max_length"},
           {"/truncation", "none",
            "its key 'truncation' is \"none\" | longest_first, only_first or only_second"},
           {"/metric", "mse",
            "its key 'metric' is \"mse\" | of labels of the kind name: accuracy, precision, recall, f1"},
           {"/metrics", {"a b"}, "its key 'metrics' is \"a b\" | names without spaces"},
           {"/metrics", {"loss"}, "its key 'metrics' is \"loss\" | another name"},
           {"/metrics", {"samples"}, "its key 'metrics' is \"samples\" | another name"},
           {"/metrics",
            {"mem_cpu_alloc_delta"},
            "its key 'metrics' is \"mem_cpu_alloc_delta\" | another name"},
           {"/metrics", {"accuracy"}, "its key 'metrics' is \"accuracy\" | another name"},
           {"/metric", "glue/mrpc",
            "its key 'metric' is \"glue/mrpc\" | of labels of the kind name: accuracy"},
           {"/keeps", "all", "its key 'keeps' is \"all\" | best or scores"},
           {"/pipeline", 1, "its key 'pipeline' is 1 | a text"},
           {"/text", "a\x1b[2J", "its key 'text' is \"a\\u001b[2J\" | a text without control characters"},
           {"/labels/column", "\u202e", "its key 'labels.column' is \"\\u202e\" | a text without"},
           {"/a\x1b[2J", 1, "there is no key 'a\\x1b[2J'"},
           {"/labels/names", {"a\tb", "c"}, "its key 'labels.names' is \"a\\tb\" | a text without"},
           // A C1 control, as which it would reach a terminal.
           {"/labels",
            {"\xc2\x9b"
             "2J"},
            "its key 'labels' is [\"\\x9b2J\"] | {"},
           {"/max_length",
            "\xc2\x9b"
            "2J",
            "its key 'max_length' is \"\\x9b2J\" | a number"},
           {"/padding", "\u202e", "its key 'padding' is \"\\u202e\" | longest"},
           {"/keeps", "\u202e", "its key 'keeps' is \"\\u202e\" | best"},
           {"/columns", 1, "there is no key 'columns' | the keys are name, head, text, labels"}}) {
    CAPTURE(one.pointer);
    CHECK_THAT(refusal_of(with(pairs(), one.pointer, one.value).dump()), Catch::StartsWith(one.said));
  }
  for (const char* key : {"name", "head", "text", "labels"}) {
    Json less = pairs();
    less.erase(key);
    CHECK(refusal_of(less.dump()) ==
          std::string("it lacks the key '") + key + "' | what docs/plugins.md says of tasks");
  }
  CHECK_THAT(refusal_of("[1]"), Catch::StartsWith("it is no JSON object | "));
  CHECK_THAT(refusal_of("{\"name\": "), Catch::StartsWith("it is no JSON | "));
  const Json single = with(pairs(), "/text", "text");
  CHECK_THAT(refusal_of(with(single, "/truncation", "only_first").dump()),
             Catch::Contains("leave it out: there is one text to cut"));
  CHECK_THAT(refusal_of(with(with(pairs(), "/labels", numbers), "/labels/names", {"x", "y"}).dump()),
             Catch::Contains("numbers in columns of their own are called as these are"));
  CHECK_THAT(refusal_of(with(with(pairs(), "/labels", numbers), "/keeps", "scores").dump()),
             Catch::Contains("only of labels of the kind name there is a choice"));
  const Json tags = with(with(single, "/head", "token_classification"), "/labels/kind", "names");
  CHECK(refusal_of(tags.dump()).empty());
  CHECK_THAT(refusal_of(with(tags, "/metric", "f1").dump()),
             Catch::Contains("that of this head is always reported"));
  CHECK_THAT(refusal_of(with(tags, "/metrics", {"f1"}).dump()),
             Catch::Contains("evaluation reports this one itself"));
  CHECK(refusal_of(with(pairs(), "/metrics", {"f1"}).dump()).empty());  // accuracy is what it reports
  CHECK_THAT(refusal_of(with(with(pairs(), "/metric", "f1"), "/metrics", {"f1"}).dump()),
             Catch::Contains("evaluation reports this one itself"));
}

TEST_CASE("a described task is one of the table, once, and takes nobody's name") {
  const Json description = with(pairs(), "/name", "of-its-own");
  const size_t before = task_table().size();
  add_described_task(description.dump(), "/lib/mine.so");
  add_described_task(description.dump(), "/lib/mine.so");
  REQUIRE(task_table().size() == before + 1);
  const Task task = task_named("of-its-own").value();
  CHECK(row_of(task).task == task);
  CHECK(description_of(task)->texts == ListOfNames{"sentence1", "sentence2"});
  CHECK(description_of(Task::kImageClassification) == nullptr);
  const auto refused = [&](const char* name) {
    CHECK_REFUSED(add_described_task(with(description, "/name", name).dump(), "/lib/mine.so"),
                  std::string("a task is called '") + name + "' already");
  };
  refused("clm");
  refused("summarization");
  CHECK_REFUSED(add_described_task(with(description, "/name", "translation_en_to_ro").dump(), "/lib/mine.so"),
                "`--task translation_en_to_ro` is translation of these languages");
  CHECK_REFUSED(add_described_task(with(description, "/name", "null").dump(), "/lib/mine.so"),
                "it is called 'null', and `--task null` stands for the flag's default");
  CHECK_REFUSED(add_described_task(with(description, "/max_length", 9).dump(), "/lib/other.so"),
                "a task is called 'of-its-own' already");
  CHECK(task_table().size() == before + 1);
  add_described_task(with(description, "/name", "summarization_of_ours").dump(), "/lib/ours.so");
  CHECK(task_named("summarization_of_ours") != task_named("summarization"));
}

// Number for number.
void check_same_batches(testing::TaskFixture& one, testing::TaskFixture& other,
                        const data::PreparedData& first, const data::PreparedData& second) {
  const auto left = open_split(first.train), right = open_split(second.train);
  REQUIRE(left->size() == right->size());
  const std::vector<int64_t> samples = all_samples_of(*left);
  const auto collate = [&](testing::TaskFixture& fixture, const data::Dataset& dataset, const Json& facts) {
    const auto collator = data::padding_collator(fixture.row.padding(fixture.input, facts));
    std::vector<std::pair<std::string, std::vector<char>>> tensors;
    std::vector<void*> places;
    for (const data::TensorShape& shape : collator->shapes(dataset, samples)) {
      size_t bytes = shape.type == data::TensorType::kInt64 ? sizeof(int64_t) : sizeof(float);
      for (const int64_t size : shape.sizes) bytes *= static_cast<size_t>(size);
      tensors.emplace_back(shape.name, std::vector<char>(bytes));
    }
    for (auto& tensor : tensors) places.push_back(tensor.second.data());
    collator->fill(dataset, samples, {}, places);
    return tensors;
  };
  CHECK(collate(one, *left, first.facts) == collate(other, *right, second.facts));
}

TEST_CASE("what is described as text classification is gives its batches, labels, config and metrics") {
  const std::string rows =
      "sentence1,sentence2,label\nthe cat sat,on a mat,no\na dog,the dog ran away,yes\nx,y,no\n";
  DescribedFixture described(with(pairs(), "/padding", "max_length"));
  testing::TaskFixture own(text_classification(), golden_tokenizer());
  for (testing::TaskFixture* fixture : std::initializer_list<testing::TaskFixture*>{&described, &own})
    fixture->arguments.data.max_seq_length = 7;
  const data::PreparedData of_described = described.prepare(described.request("a.csv", rows)),
                           of_own = own.prepare(own.request("a.csv", rows));
  CHECK(of_described.facts == of_own.facts);
  CHECK(of_described.train->columns == of_own.train->columns);
  check_same_batches(described, own, of_described, of_own);
  CHECK(described.row.config_changes(of_described.facts) == own.row.config_changes(of_own.facts));
  const Scoring one = described.row.scoring(described.input, of_described.facts),
                other = own.row.scoring(own.input, of_own.facts);
  CHECK(one.metrics == other.metrics);
  CHECK(one.outputs == other.outputs);
  CHECK(one.options.at("labels") == other.options.at("labels"));
  CHECK(described.row.longest(described.input) == 7);
}

TEST_CASE("labels of several classes, of a number and of several numbers become what their heads take") {
  SECTION("several classes") {
    DescribedFixture fixture(with(pairs(), "/labels", {{"column", "topics"}, {"kind", "names"}}));
    const data::PreparedData prepared = fixture.prepare(
        fixture.request("a.jsonl",
                        "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"topics\": [\"y\", \"x\"]}\n"
                        "{\"sentence1\": \"c\", \"sentence2\": \"d\", \"topics\": [\"z\"]}\n"));
    const auto dataset = open_split(prepared.train);
    CHECK(floats_of(*dataset, 0) == std::vector<float>{1, 1, 0});
    CHECK(floats_of(*dataset, 1) == std::vector<float>{0, 0, 1});
    CHECK(fixture.row.config_changes(prepared.facts)["problem_type"] == "multi_label_classification");
    CHECK(fixture.row.padding(fixture.input, prepared.facts).columns.back().form ==
          data::PaddedColumn::Form::kVector);
  }
  SECTION("whole numbers are numbers where a number is described") {
    DescribedFixture fixture(
        with(with(pairs(), "/text", "text"), "/labels", {{"column", "stars"}, {"kind", "number"}}));
    const data::PreparedData prepared = fixture.prepare(fixture.request("a.csv", "stars,text\n3,a\n5,b\n"));
    CHECK(floats_of(*open_split(prepared.train), 1) == std::vector<float>{5});
    CHECK(prepared.facts == LabelSet::named(LabelSet::Kind::kRegression, {}).to_json_value());
    CHECK(fixture.row.config_changes(prepared.facts)["problem_type"] == "regression");
  }
  SECTION("numbers in columns of their own are called as these are") {
    DescribedFixture fixture(with(with(pairs(), "/text", "text"), "/labels",
                                  {{"column", {"height", "width"}}, {"kind", "numbers"}}));
    const data::PreparedData prepared =
        fixture.prepare(fixture.request("a.csv", "width,text,height\n0.5,a,2\n4,b,-1\n"));
    CHECK(floats_of(*open_split(prepared.train), 0) == std::vector<float>{2, 0.5});
    const Json changes = fixture.row.config_changes(prepared.facts);
    CHECK(changes["problem_type"] == "regression");
    CHECK(changes["id2label"] == Json({{"0", "height"}, {"1", "width"}}));
    CHECK_THAT(fixture.refusal(fixture.request("b.csv", "width,text,height\n1,a,tall\n"), ExitCode::kData),
               Catch::Contains("a row of a regression has no number as its label"));
  }
  SECTION("numbers in a list have described names, and are as many") {
    DescribedFixture fixture(with(with(pairs(), "/text", "text"), "/labels",
                                  {{"column", "at"}, {"kind", "numbers"}, {"names", {"x", "y", "z"}}}));
    const data::PreparedData prepared =
        fixture.prepare(fixture.request("a.jsonl", "{\"text\": \"a\", \"at\": [1, 2.5, 3]}\n"));
    CHECK(floats_of(*open_split(prepared.train), 0) == std::vector<float>{1, 2.5, 3});
    CHECK_THAT(
        fixture.refusal(fixture.request("b.jsonl", "{\"text\": \"a\", \"at\": [1, 2]}\n"), ExitCode::kData),
        Catch::Contains("it has 2, and there are 3"));
  }
}

TEST_CASE("words with a name each become what token classification makes of them") {
  const Json description = {{"name", "words"},
                            {"head", "token_classification"},
                            {"text", "tokens"},
                            {"labels", {{"column", "ner_tags"}, {"kind", "names"}}}};
  const std::string rows =
      "{\"tokens\": [\"the\", \"cat\"], \"ner_tags\": [\"O\", \"B-X\"]}\n{\"tokens\": [\"dog\"], "
      "\"ner_tags\": [\"O\"]}\n";
  DescribedFixture described(description);
  testing::TaskFixture own(token_classification(), golden_tokenizer());
  own.arguments.data.max_seq_length = 128;
  const data::PreparedData of_described = described.prepare(described.request("a.jsonl", rows)),
                           of_own = own.prepare(own.request("a.jsonl", rows));
  CHECK(of_described.facts == of_own.facts);
  check_same_batches(described, own, of_described, of_own);
  CHECK(described.row.scoring(described.input, of_described.facts).metrics ==
        own.row.scoring(own.input, of_own.facts).metrics);
  // --text_column_name is not for it.
  CHECK_THAT(
      described.refusal(described.request("b.jsonl",
                                          "{\"tokens\": 3, \"ner_tags\": [\"O\"]}\n{\"tokens\": [\"a\"], "
                                          "\"ner_tags\": [\"B-X\"]}\n"),
                        ExitCode::kData),
      Catch::Contains("or the description of a plug-in"));
}

TEST_CASE("of a text and what is to follow it only what follows has labels") {
  const Json description = {{"name", "follow"},
                            {"head", "causal_lm"},
                            {"text", "question"},
                            {"labels", {{"column", "answer"}, {"kind", "text"}}},
                            {"max_length", 64}};
  DescribedFixture fixture(description);
  fixture.input.pads_on_left = true;
  const std::string row = "{\"question\": \"the cat\", \"answer\": \"sat\"}\n";
  const data::PreparedData prepared = fixture.prepare(fixture.request("a.jsonl", row));
  const auto dataset = open_split(prepared.train);
  const std::vector<int64_t> ids = integers_of(*dataset, "input_ids", 0),
                             labels = integers_of(*dataset, "labels", 0);
  const auto tokenizer = tokenizer::Tokenizer::load(fixture.folder / "tokenizer");
  std::vector<tokenizer::TokenId> question, both;
  tokenizer->encode_into("the cat", true, question);
  both = question;
  tokenizer->encode_into("sat", false, both);
  CHECK(ids == std::vector<int64_t>(both.begin(), both.end()));
  for (size_t i = 0; i < ids.size(); ++i) CHECK(labels.at(i) == (i < question.size() ? -100 : ids[i]));
  CHECK_FALSE(fixture.row.config_changes);
  CHECK_FALSE(fixture.row.padding(fixture.input, nullptr).on_left);
  CHECK(fixture.row.scoring(fixture.input, nullptr).outputs == OutputForm::kBestIds);
  fixture.arguments.data.max_seq_length = static_cast<int64_t>(question.size());
  CHECK_THAT(fixture.refusal(fixture.request("b.jsonl", row), ExitCode::kData),
             Catch::Contains("no row has a token that is to follow its text"));
  CHECK_THAT(fixture.refusal(fixture.request("c.jsonl", "{\"question\": \"the cat\", \"answer\": 3}\n"),
                             ExitCode::kData),
             Catch::Contains("it is a number"));
}

Json answers() {
  return {{"name", "answers"},
          {"head", "causal_lm"},
          {"text", "question"},
          {"labels", {{"column", "answer"}, {"kind", "text"}}},
          {"max_length", 64}};
}

TEST_CASE("what follows a text stands before the end that the tokenizer puts behind every text") {
  testing::TaskFixture fixture(row_of_description(answers()), golden_tokenizer(), {{"eos_token", "[SEP]"}});
  const auto dataset =
      open_split(fixture
                     .prepare(fixture.request("a.jsonl",
                                              "{\"question\": \"the cat\", \"answer\": \"sat\"}\n"
                                              "{\"question\": \"the [SEP]\", \"answer\": \"sat\"}\n"))
                     .train);
  const auto tokenizer = tokenizer::Tokenizer::load(fixture.folder / "tokenizer");
  const int64_t end = tokenizer->eos_id().value();
  std::vector<tokenizer::TokenId> question;
  tokenizer->encode_into("the cat", true, question);
  REQUIRE(question.back() == end);
  const std::vector<int64_t> ids = integers_of(*dataset, "input_ids", 0),
                             labels = integers_of(*dataset, "labels", 0);
  CHECK(std::ranges::count(ids, end) == 1);
  CHECK(ids.back() == end);
  CHECK(labels.back() == end);
  CHECK(labels.at(question.size() - 2) == -100);  // "cat"
  CHECK(labels.at(question.size() - 1) == ids.at(question.size() - 1));
  CHECK(std::ranges::count(integers_of(*dataset, "input_ids", 1), end) == 2);  // the text's own stays
}

// What is said of these rows, encoded to at most so many tokens; `kept` gets the first row's tokens and labels.
std::vector<std::string> remarks_of_answers(const testing::TaskFixture& fixture, int64_t limit,
                                            const std::vector<std::pair<const char*, const char*>>& rows,
                                            std::pair<std::vector<int32_t>, std::vector<int32_t>>& kept) {
  const auto encoder = continuation_encoder(tokenizer::Tokenizer::load(fixture.folder / "tokenizer"),
                                            {.max_length = limit, .predicts = true});
  data::Records records(2);
  for (const auto& [text, answer] : rows) {
    records.begin_row("a.jsonl", 1);
    records.set_text(records.slot(0), text);
    if (answer != nullptr) records.set_text(records.slot(1), answer);
  }
  data::Features features;
  features.columns.resize(2);
  encoder->encode(records, features);
  const auto length = features.columns[0].lengths.at(0);
  const auto first = [&](const std::vector<int32_t>& all) {
    return std::vector<int32_t>(all.begin(), all.begin() + length);
  };
  kept = {first(features.columns[0].integers), first(features.columns[1].integers)};
  std::vector<std::string> sentences;
  for (const data::Remark& remark : encoder->remarks()) sentences.push_back(remark.sentence);
  return sentences;
}

TEST_CASE(
    "rows whose text leaves no room for what follows are told of, and the tokenizer says where they are "
    "cut") {
  testing::TaskFixture right(row_of_description(answers()), golden_tokenizer()),
      left(row_of_description(answers()), golden_tokenizer(), {{"truncation_side", "left"}});
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"the cat sat on the mat", "a dog"}, {"a", "dog"}, {"the cat sat on the mat", nullptr}};
  std::pair<std::vector<int32_t>, std::vector<int32_t>> whole, first, last;
  CHECK(remarks_of_answers(right, 64, rows, whole).empty());
  const auto& [ids, labels] = whole;
  const auto given = static_cast<int64_t>(std::ranges::count(labels, -100));
  REQUIRE(given + 1 < static_cast<int64_t>(ids.size()));
  REQUIRE(given > 4);
  const std::string limit = std::to_string(given) + " tokens (--max_seq_length)";
  CHECK(remarks_of_answers(right, given, rows, first) ==
        ListOfNames{
            "1 of 3 rows has no token that counts: nothing of what follows its text is left within " + limit,
            "1 of 3 rows is longer than " + limit + " and cut at its end"});
  CHECK(first.first == std::vector<int32_t>(ids.begin(), ids.begin() + given));
  CHECK(remarks_of_answers(left, given, rows, last) ==
        ListOfNames{"1 of 3 rows is longer than " + limit + " and cut at its beginning"});
  CHECK(last.first == std::vector<int32_t>(ids.end() - given, ids.end()));
  CHECK(last.second == std::vector<int32_t>(labels.end() - given, labels.end()));
  const std::string less = std::to_string(given - 1) + " tokens";
  CHECK(remarks_of_answers(right, given - 1, rows, first)
            .at(1)
            .starts_with("2 of 3 rows are longer than " + less));
}

TEST_CASE("of a text and what follows test rows are judged where they have both, and some have") {
  DescribedFixture fixture(answers());
  data::PrepareRequest request =
      fixture.request("a.jsonl", "{\"question\": \"the cat\", \"answer\": \"sat\"}\n");
  const auto with_tests = [&](const std::string& rows) {
    write_file_atomically(fixture.folder / "test.jsonl", rows);
    request.test_files = {fixture.folder / "test.jsonl"};
    return request;
  };
  const auto test = open_split(fixture
                                   .prepare(with_tests("{\"question\": \"a dog\", \"answer\": \"ran\"}\n"
                                                       "{\"question\": \"a dog\", \"answer\": null}\n"))
                                   .test);
  const auto counted = [&](int64_t row) {
    return std::ranges::count_if(integers_of(*test, "labels", row), [](int64_t label) { return label >= 0; });
  };
  CHECK(counted(0) > 0);
  CHECK(counted(1) == 0);
  CHECK_THAT(fixture.refusal(with_tests("{\"question\": \"a dog\"}\n"), ExitCode::kData),
             Catch::Contains("no row has a text that is to follow its text"));
}

TEST_CASE("rows that are not as described are refused with the name of what is missing or wrong") {
  DescribedFixture fixture(pairs());
  const auto refusal = [&](const char* rows) {
    return fixture.refusal(fixture.request("a.csv", rows), ExitCode::kData);
  };
  const std::string missing = refusal("sentence1,label\na,b\n");
  CHECK_THAT(missing, Catch::Contains("there is no column 'sentence2'"));
  CHECK_THAT(missing, Catch::Contains("the plug-in describes --task " + std::string(fixture.row.name)));
  CHECK_THAT(refusal("sentence1,sentence2\na,b\n"), Catch::Contains("there is no column 'label'"));
  const std::string other = refusal("sentence1,sentence2,label\na,b,0.5\nc,d,1.5\n");
  CHECK_THAT(other, Catch::Contains("the labels are not those that the plug-in describes"));
  CHECK_THAT(other, Catch::Contains("they are numbers with a fraction, and those of --task"));
}

TEST_CASE("test data of a described task need no labels") {
  DescribedFixture fixture(pairs());
  data::PrepareRequest request = fixture.request("a.csv", "sentence1,sentence2,label\na,b,no\nc,d,yes\n");
  write_file_atomically(fixture.folder / "test.csv", "sentence2,sentence1\ne,f\n");
  request.test_files = {fixture.folder / "test.csv"};
  CHECK(fixture.prepare(request).test->columns == ListOfNames{"input_ids", "token_type_ids"});
}

TEST_CASE("rows whose labels are described can be streamed, by a recipe that is made again of its settings") {
  DescribedFixture unknown(pairs()), known(with(pairs(), "/labels/names", {"yes", "no"}));
  CHECK(unknown.row.recipe(unknown.input).settings.is_null());
  const data::Recipe recipe = known.row.recipe(known.input);
  REQUIRE_FALSE(recipe.settings.is_null());
  CHECK_FALSE(recipe.survey);
  const data::Recipe again = known.row.recipe_again(Json::parse(recipe.settings.dump()));
  CHECK(again.options == recipe.options);
  CHECK(again.settings == recipe.settings);
  const std::string rows = "sentence1,sentence2,label\na,b,no\nc,d,yes\n";
  data::PrepareRequest request = known.request("a.csv", rows);
  const data::PreparedData first = known.prepare(request);
  request.recipe = again;
  request.cache_folder = known.folder / "another";
  const data::PreparedData second = known.prepare(request);
  check_same_batches(known, known, first, second);
  CHECK(integers_of(*open_split(second.train), "labels", 0) == std::vector<int64_t>{1});  // as numbered there
  // A stream has no facts beside its recipe.
  const auto tokenizer = tokenizer::Tokenizer::load(known.folder / "tokenizer");
  CHECK(again.encoder(tokenizer, data::Split::kTrain, nullptr)->schema().size() == 3);
  CHECK_THAT(
      known.refusal(known.request("b.csv", "sentence1,sentence2,label\na,b,perhaps\n"), ExitCode::kData),
      Catch::Contains("it is 'perhaps'; the labels are yes, no"));
}

TEST_CASE("metrics of the plug-in are known before the run, and judge whole splits") {
  const Json description = with(with(pairs(), "/metrics", {"mine", "ours"}), "/keeps", "scores");
  DescribedFixture fixture(description), plain(pairs());
  const Json facts = LabelSet::named(LabelSet::Kind::kClasses, {"no", "yes"}).to_json_value();
  const Scoring scoring = fixture.row.scoring(fixture.input, facts);
  CHECK(scoring.metrics == ListOfNames{"accuracy", "mine", "ours"});
  CHECK(scoring.outputs == OutputForm::kScores);
  CHECK(scoring.bytes_per_sample > plain.row.scoring(plain.input, facts).bytes_per_sample);
  CHECK(fixture.row.scoring(fixture.input, nullptr).metrics == ListOfNames{"accuracy", "mine", "ours"});
  fixture.arguments.evaluation.batch_eval_metrics = true;
  CHECK_REFUSED(fixture.row.scoring(fixture.input, facts),
                "--batch_eval_metrics and metrics of a plug-in do not go together");
  plain.arguments.evaluation.batch_eval_metrics = true;
  CHECK_NOTHROW(plain.row.scoring(plain.input, facts));
}

TEST_CASE("kept scores of classes are judged by the largest, and several numbers one by one") {
  DescribedFixture classes(with(pairs(), "/keeps", "scores"));
  const Json facts = LabelSet::named(LabelSet::Kind::kClasses, {"no", "perhaps", "yes"}).to_json_value();
  const Json of_classes = classes.row.scoring(classes.input, facts).options;
  const auto scorer = classes.row.scorer({.options = of_classes, .model_config = Json()});
  const std::vector<int64_t> samples = {0, 1}, labels = {2, 1};
  const std::vector<float> scores = {0, -1, 3, 2, 1, 0};
  scorer->add({.samples = samples,
               .output = {.name = "output", .sizes = {3}, .scores = scores},
               .labels = {{.name = "labels", .ids = labels}}});
  CHECK(scorer->results() == metrics::MetricResults{{"accuracy", 0.5}});

  DescribedFixture numbers(with(pairs(), "/labels", {{"column", {"x", "y"}}, {"kind", "numbers"}}));
  const Json of_numbers =
      numbers.row
          .scoring(numbers.input, LabelSet::named(LabelSet::Kind::kNumbers, {"x", "y"}).to_json_value())
          .options;
  const auto judge = numbers.row.scorer(
      {.options = of_numbers, .model_config = Json(), .split = data::Split::kTest, .writes = true});
  const std::vector<float> said = {1, 2, 3, 4}, right = {1, 2, 3, 6};
  judge->add({.samples = samples,
              .output = {.name = "output", .sizes = {2}, .scores = said},
              .labels = {{.name = "labels", .sizes = {2}, .scores = right}}});
  CHECK(judge->results() == metrics::MetricResults{{"mse", 1}});
  CHECK(judge->files("predict").front().text == "index\tprediction\n0\t[1.000, 2.000]\n1\t[3.000, 4.000]\n");
}

TEST_CASE("a run that does not train takes the labels of its model, where they are of the described kind") {
  DescribedFixture fixture(pairs());
  fixture.input.trains = false;
  fixture.input.model_config["label2id"] = {{"yes", 0}, {"no", 1}};
  CHECK(fixture.row.recipe(fixture.input).facts["names"] == Json({"yes", "no"}));
  fixture.input.model_config["problem_type"] = "multi_label_classification";
  CHECK_REFUSED(fixture.row.recipe(fixture.input),
                "the model was trained for other labels than the plug-in describes");
}

TEST_CASE("a model that is only judged has the labels that the description names, number by number") {
  DescribedFixture fixture(with(pairs(), "/labels/names", {"yes", "no"}));
  fixture.input.trains = false;
  const auto refused = [&](const Json& numbers, const char* why) {
    fixture.input.model_config["label2id"] = numbers;
    CHECK_REFUSED(fixture.row.recipe(fixture.input),
                  "the model was trained for other labels than the plug-in describes");
    CHECK_REFUSED(fixture.row.recipe(fixture.input), why);
  };
  refused({{"no", 0}, {"yes", 1}}, "its label 0 is 'no', and those of --task");
  refused({{"yes", 0}, {"no", 1}, {"perhaps", 2}}, "its label 2 is 'perhaps', and those of --task");
  refused({{"yes", 0}}, "described with 'no' there");
  fixture.input.trains = true;  // it learns others
  CHECK_NOTHROW(fixture.row.recipe(fixture.input));
  fixture.input.trains = false;
  fixture.input.model_config["label2id"] = {{"yes", 0}, {"no", 1}};
  CHECK_NOTHROW(fixture.row.recipe(fixture.input));
  fixture.input.model_config["problem_type"] = "multi_label_classification";
  CHECK_REFUSED(fixture.row.recipe(fixture.input), "its labels are lists of classes");

  DescribedFixture numbers(with(pairs(), "/labels", {{"column", {"x", "y"}}, {"kind", "numbers"}}));
  numbers.input.trains = false;
  numbers.input.model_config.update({{"problem_type", "regression"}, {"label2id", {{"x", 0}, {"y", 1}}}});
  CHECK_NOTHROW(numbers.row.recipe(numbers.input));
  numbers.input.model_config["label2id"] = {{"y", 0}, {"x", 1}};
  CHECK_REFUSED(numbers.row.recipe(numbers.input), "its label 0 is 'y'");

  DescribedFixture number(with(pairs(), "/labels", {{"column", "stars"}, {"kind", "number"}}));
  number.input.trains = false;
  number.input.model_config.update({{"problem_type", "regression"}, {"label2id", {{"score", 0}}}});
  CHECK_NOTHROW(number.row.recipe(number.input));
  number.input.model_config["label2id"] = {{"score", 0}, {"other", 1}};
  CHECK_REFUSED(number.row.recipe(number.input), "its label 0 is 'score'");
}

TEST_CASE(
    "a model that is only judged has the head of a described task, with as many labels where it names none") {
  DescribedFixture fixture(with(pairs(), "/labels/names", {"yes", "no"}));
  fixture.input.trains = false;
  CHECK_NOTHROW(fixture.row.recipe(fixture.input));  // of transformers' two
  fixture.input.model_config["label2id"] = {{"LABEL_0", 0}, {"LABEL_1", 1}, {"LABEL_2", 2}};
  CHECK_REFUSED(fixture.row.recipe(fixture.input), "its labels are 3, without names, and those of --task");
  fixture.input.model_config["label2id"] = {{"yes", 0}, {"no", 5}};
  CHECK_REFUSED(fixture.row.recipe(fixture.input), "its labels do not have the numbers 0, 1, …");
  fixture.input.has_head = false;
  CHECK_REFUSED(fixture.row.recipe(fixture.input), "the model has no labels");
  CHECK_REFUSED(fixture.row.recipe(fixture.input), "which was not saved with the head of this task");
  fixture.arguments.data.train_file = {"train.csv"};  // somebody judges a head that knows nothing
  CHECK_NOTHROW(fixture.row.recipe(fixture.input));
  fixture.arguments.data.train_file = {};
  fixture.input.trains = true;
  CHECK_NOTHROW(fixture.row.recipe(fixture.input));

  DescribedFixture number(with(pairs(), "/labels", {{"column", "stars"}, {"kind", "number"}}));
  number.input.trains = false;
  CHECK_REFUSED(number.row.recipe(number.input), "its labels are 2, without names, and those of --task");
  number.input.model_config["label2id"] = {{"LABEL_0", 0}};
  CHECK_NOTHROW(number.row.recipe(number.input));
}

TEST_CASE("a metric of two classes is refused for three before anything is trained") {
  DescribedFixture fixture(with(pairs(), "/metric", "f1"));
  const auto facts = [](const ListOfNames& names) {
    return LabelSet::named(LabelSet::Kind::kClasses, names).to_json_value();
  };
  CHECK_NOTHROW(fixture.row.scoring(fixture.input, facts({"no", "yes"})));
  CHECK_REFUSED(fixture.row.scoring(fixture.input, facts({"no", "perhaps", "yes"})),
                "the metric f1 is of two classes");
  DescribedFixture several(
      with(with(pairs(), "/labels", {{"column", "topics"}, {"kind", "names"}}), "/metric", "f1"));
  const Json of_several = LabelSet::named(LabelSet::Kind::kMultiLabel, {"a", "b", "c"}).to_json_value();
  CHECK_NOTHROW(several.row.scoring(several.input, of_several));  // each is a question of its own
}

}  // namespace
}  // namespace hftrain::tasks
