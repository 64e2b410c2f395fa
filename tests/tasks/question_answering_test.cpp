// Questions to batches, against what the packages of the example script made of the same files
// (scripts/golden/question_answering.py).
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/prepare.h"
#include "hftrain/tasks/question_encoder.h"
#include "hftrain/tasks/task_table.h"
#include "question_fixture.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::tasks {
namespace {

using Catch::Contains;
using questions::QuestionFixture;

constexpr const char* kStory = R"("context": "Ada went home. Boris had 3 coins.")";

std::string question_line(const std::string& answers, const std::string& question = "Who went?") {
  return R"({"id": "a", "question": ")" + question + R"(", )" + kStory + R"(, "answers": )" + answers + "}\n";
}

const std::string kGood = question_line(R"({"text": ["Ada"], "answer_start": [0]})");

// Begin and end of every token of the context, behind the place of the first one: as the golden file has them.
Json spans_of(const data::Dataset& dataset, int64_t sample, int64_t shift) {
  const std::vector<int64_t> numbers = questions::numbers_of(dataset, kSpans, sample);
  Json spans = {-1, Json::array()};
  for (size_t i = 0; i < numbers.size(); i += 2) {
    if (numbers[i] < 0) continue;
    if (spans[0] == -1) spans[0] = static_cast<int64_t>(i / 2) + shift;
    spans[1].push_back(numbers[i]);
    spans[1].push_back(numbers[i + 1]);
  }
  return spans;
}

TEST_CASE("questions: batches equal those that the packages of the example script make of the same files") {
  for (const Json& entry : questions::question_golden().at("cases")) {
    CAPTURE(entry.at("name").get<std::string>());
    const QuestionFixture fixture(entry);
    const data::PreparedData prepared = fixture.prepare(fixture.request(entry["file"], entry["content"]));
    const auto dataset = data::Dataset::open(prepared.train->cache_path, prepared.train->columns);
    REQUIRE(dataset->size() == static_cast<int64_t>(entry["windows"].size()));
    const auto collator = data::padding_collator(question_answering().padding(fixture.input, prepared.facts));
    for (const char* name :
         {"input_ids", "attention_mask", "token_type_ids", kStartPositions, kEndPositions}) {
      CAPTURE(name);
      CHECK(questions::batch_tensor(*collator, *dataset, questions::every_sample(*dataset), name) ==
            entry["batch"][name]);
    }
  }
}

TEST_CASE(
    "questions: windows of validation data know the characters of their tokens, the first one the texts") {
  for (const Json& entry : questions::question_golden().at("cases")) {
    CAPTURE(entry.at("name").get<std::string>());
    const QuestionFixture fixture(entry);
    data::PrepareRequest request = fixture.request(entry["file"], entry["content"]);
    request.validation_files = request.train_files;
    request.train_files.clear();
    const data::PreparedData prepared = fixture.prepare(request);
    const auto dataset = data::Dataset::open(prepared.validation->cache_path, prepared.validation->columns);
    const auto width = static_cast<int64_t>(entry["batch"]["input_ids"][0].size());
    std::string id;
    for (int64_t sample = 0; sample < dataset->size(); ++sample) {
      const int64_t pads = width - dataset->column(data::kInputIds).length(sample);
      CHECK(spans_of(*dataset, sample, fixture.input.pads_on_left ? pads : 0) ==
            entry["spans"][static_cast<size_t>(sample)]);
      const bool is_first = questions::numbers_of(*dataset, kWindow, sample) == std::vector<int64_t>{0};
      if (is_first) id = questions::text_of(*dataset, kQuestionId, sample);
      CHECK(id == entry["windows"][static_cast<size_t>(sample)]);
      CHECK(questions::text_of(*dataset, kContextText, sample).empty() != is_first);
      CHECK(questions::text_of(*dataset, kAnswerTexts, sample).empty() != is_first);
    }
  }
}

TEST_CASE("questions: an answer at the end of a window's context is its last token") {
  const QuestionFixture fixture;
  const std::string line = question_line(R"({"text": ["."], "answer_start": [32]})");
  const data::PreparedData prepared = fixture.prepare(fixture.request("a.jsonl", line));
  const auto dataset = data::Dataset::open(prepared.train->cache_path, prepared.train->columns);
  const int64_t last = dataset->column(data::kInputIds).length(0) - 2;  // [SEP] follows
  CHECK(questions::numbers_of(*dataset, kStartPositions, 0) == std::vector<int64_t>{last});
  CHECK(questions::numbers_of(*dataset, kEndPositions, 0) == std::vector<int64_t>{last});
}

TEST_CASE("questions: an answer at the begin of a context is its first token, also without special tokens") {
  QuestionFixture fixture;
  fixture.use_tokenizer(questions::question_golden()["cases"][6]);
  const data::PreparedData prepared = fixture.prepare(fixture.request("a.jsonl", kGood));
  const auto dataset = data::Dataset::open(prepared.train->cache_path, prepared.train->columns);
  const int64_t first = questions::numbers_of(*dataset, kStartPositions, 0)[0];
  CHECK(first > 1);
  CHECK(questions::numbers_of(*dataset, kEndPositions, 0)[0] == first + 2);
}

TEST_CASE("questions: test data need no answers, and no labels are made of them") {
  const QuestionFixture fixture;
  data::PrepareRequest request = fixture.request("a.jsonl", kGood);
  write_file_atomically(fixture.folder / "test.jsonl",
                        R"({"id": 7, "question": "Who?", "context": "The owl."})");
  request.test_files = {fixture.folder / "test.jsonl"};
  const data::PreparedData prepared = fixture.prepare(request);
  using Names = std::vector<std::string>;
  CHECK(prepared.train->columns == Names{"input_ids", "token_type_ids", "start_positions", "end_positions"});
  CHECK(prepared.test->columns ==
        Names{"input_ids", "token_type_ids", "spans", "window", "id", "context", "answers"});
  const auto test = data::Dataset::open(prepared.test->cache_path, prepared.test->columns);
  CHECK(questions::text_of(*test, kQuestionId, 0) == "7");
  CHECK(questions::text_of(*test, kContextText, 0) == "The owl.");
  CHECK(questions::text_of(*test, kAnswerTexts, 0).empty());
}

TEST_CASE("questions: flags change windows, and what changes them makes another cache entry") {
  QuestionFixture fixture;
  const auto folder = [&] { return fixture.prepare(fixture.request("a.jsonl", kGood)).folder; };
  const auto windows = [&] { return fixture.prepare(fixture.request("a.jsonl", kGood)).train->samples; };
  const std::string first = folder();
  CHECK(windows() == 1);
  CHECK(question_answering().longest(fixture.input) == 384);
  fixture.arguments.data.max_seq_length = 24;
  fixture.arguments.data.doc_stride = 0;
  CHECK(question_answering().longest(fixture.input) == 24);
  CHECK(folder() != first);
  const int64_t few = windows();
  fixture.arguments.data.doc_stride = 8;
  CHECK(windows() > few);
  fixture.input.tokenizer_max_length = 22;
  CHECK(question_answering().longest(fixture.input) == 22);
  const std::string right = folder();
  fixture.input.pads_on_left = true;
  CHECK(folder() != right);
}

TEST_CASE(
    "questions: without pad_to_max_length a batch is as long as its longest window, under fp16 a multiple of "
    "8") {
  QuestionFixture fixture;
  CHECK(question_answering().padding(fixture.input, {}).length == 384);
  fixture.input.pad_to_max_length = false;
  CHECK(question_answering().padding(fixture.input, {}).length == 0);
  CHECK(question_answering().padding(fixture.input, {}).multiple == 1);
  fixture.arguments.precision.fp16 = true;
  CHECK(question_answering().padding(fixture.input, {}).multiple == 8);
}

TEST_CASE("questions: a validation question without an answer needs version_2_with_negative") {
  QuestionFixture fixture;
  data::PrepareRequest request = fixture.request("a.jsonl", kGood);
  write_file_atomically(fixture.folder / "dev.jsonl", question_line(R"({"text": [], "answer_start": []})"));
  request.validation_files = {fixture.folder / "dev.jsonl"};
  CHECK_THAT(fixture.refusal(request),
             Contains("has no answer") && Contains("dev.jsonl:1") && Contains("--version_2_with_negative"));
  fixture.arguments.data.version_2_with_negative = true;
  request.recipe = question_answering().recipe(fixture.input);
  CHECK(fixture.prepare(request).validation->samples == 1);
}

TEST_CASE("questions: rows that cannot be learnt from are refused in four parts, with their place") {
  const QuestionFixture fixture;
  const auto refusal = [&](const std::string& content, const std::string& name = "a.jsonl") {
    std::string text = fixture.refusal(fixture.request(name, content));
    CHECK_THAT(text, Contains("where") && Contains("why"));
    return text;
  };
  const auto second = [&](const std::string& answers) { return refusal(kGood + question_line(answers)); };
  CHECK_THAT(
      second(R"({"text": ["Eve"], "answer_start": [0]})"),
      Contains("an answer is not in its context") && Contains("a.jsonl:2") && Contains("'Ada', not 'Eve'"));
  CHECK_THAT(second(R"({"text": ["Ada"], "answer_start": [99]})"),
             Contains("starts outside its context") && Contains("33 characters"));
  CHECK_THAT(second(R"({"text": ["Ada"], "answer_start": [-1]})"), Contains("starts outside its context"));
  CHECK_THAT(second(R"({"text": ["Ada"], "answer_start": ["0"]})"), Contains("no whole number"));
  CHECK_THAT(second(R"({"text": [""], "answer_start": [0]})"), Contains("an answer is empty"));
  CHECK_THAT(second(R"({"text": [4], "answer_start": [0]})"), Contains("an answer is no string"));
  CHECK_THAT(second(R"({"text": ["Ada"], "answer_start": []})"), Contains("1 texts have 0 starts"));
  CHECK_THAT(second(R"({"text": ["Ada"]})"), Contains("answer_start is missing"));
  CHECK_THAT(second(R"("Ada")"), Contains("they are a string"));
  CHECK_THAT(second("null"), Contains("they are null"));
  CHECK_THAT(refusal(question_line("{}", "  ")), Contains("the question of a row is empty"));
  CHECK_THAT(refusal(R"({"question": "Who?", "context": "", "answers": {}})"),
             Contains("the context of a row is empty"));
  CHECK_THAT(refusal(R"({"question": 3, "context": "x", "answers": {}})"),
             Contains("the question of a row is no string"));
  CHECK_THAT(refusal(R"({"question": "Who?", "context": "x"})"), Contains("no column 'answers'"));
  CHECK_THAT(refusal(R"({"id": "a", "question": "Who?", "passage": "x", "answers": {}})"),
             Contains("no column 'context'") && Contains("id, question, passage, answers"));
  CHECK_THAT(refusal(R"({"data": [{"title": "x", "paragraphs": []}]})", "a.json"),
             Contains("a record for each question"));
  CHECK_THAT(refusal("question,context,answers\nWho?,Ada went.,Ada\n", "a.csv"),
             Contains("they are a string"));
}

TEST_CASE("questions: two of a split with one id are refused where answers are predicted, with both places") {
  const QuestionFixture fixture;
  const auto line = [](const std::string& id) {
    return R"({"id": )" + id +
           R"(, "question": "Who?", "context": "Ada went.", "answers": {"text": ["Ada"], "answer_start": [0]}})" +
           '\n';
  };
  data::PrepareRequest request = fixture.request("a.jsonl", line("1") + line("1"));
  CHECK(fixture.prepare(request).train->samples == 2);
  write_file_atomically(fixture.folder / "dev.jsonl", line("7") + line("\"8\"") + line("\"7\""));
  for (auto* files : {&request.validation_files, &request.test_files}) {
    *files = {fixture.folder / "dev.jsonl"};
    CHECK_THAT(fixture.refusal(request), Contains("two questions have the same id") &&
                                             Contains("dev.jsonl:3") && Contains("'7' is that of") &&
                                             Contains("dev.jsonl:1 too"));
    files->clear();
  }
}

TEST_CASE("questions: windows that cannot go on are refused") {
  QuestionFixture fixture;
  fixture.arguments.data.max_seq_length = 16;
  fixture.arguments.data.doc_stride = 16;
  CHECK_REFUSED(fixture.request("a.jsonl", kGood), "where: --doc_stride");
  fixture.arguments.data.doc_stride = 12;
  CHECK_THAT(fixture.refusal(fixture.request("a.jsonl", kGood)),
             Contains("a.jsonl:1") && Contains("cannot share") && Contains("--doc_stride"));
  fixture.arguments.data.max_seq_length = 6;
  fixture.arguments.data.doc_stride = 0;
  CHECK_THAT(fixture.refusal(fixture.request("a.jsonl", kGood)),
             Contains("too many") && Contains("--max_seq_length"));
}

}  // namespace
}  // namespace hftrain::tasks
