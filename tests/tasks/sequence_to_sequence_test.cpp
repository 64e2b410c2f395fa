// Pairs of texts to batches, against what the packages of the example scripts made of the same files
// (scripts/golden/sequence_to_sequence.py).
#include <set>

#include "hftrain/base/file.h"
#include "question_fixture.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::tasks {
namespace {

using Catch::Contains;
using questions::batch_tensor;
using questions::every_sample;

const Json& pair_golden() {
  static const Json document =
      read_json_file(testing::source_dir() + "/tests/golden/tasks/sequence_to_sequence.json");
  return document;
}

// The files and flags of a case; without one nothing is asked for.
struct PairFixture : questions::QuestionFixture {
  PairFixture() {
    write_file_atomically(folder / "tokenizer/tokenizer.json", dump_json(pair_golden().at("tokenizer")));
    write_file_atomically(folder / "tokenizer/tokenizer_config.json", R"({"pad_token": "[PAD]"})");
    input.pads_on_left = false;
  }
  explicit PairFixture(const Json& entry) : PairFixture() {
    arguments::DataArguments& asked = arguments.data;
    const auto take = [&](const char* name, auto& place) {
      if (entry.contains(name))
        place = entry[name].get<typename std::remove_cvref_t<decltype(place)>::value_type>();
    };
    take("text_column", asked.text_column);
    take("summary_column", asked.summary_column);
    take("source_lang", asked.source_lang);
    take("target_lang", asked.target_lang);
    take("source_prefix", asked.source_prefix);
    take("max_source_length", asked.max_source_length);
    take("max_target_length", asked.max_target_length);
    take("val_max_target_length", asked.val_max_target_length);
    take("pad_to_max_length", input.pad_to_max_length);
    asked.ignore_pad_token_for_loss = entry.value("ignore_pad_token_for_loss", true);
    arguments.precision.fp16 = entry.value("fp16", false);
    if (entry.value("padding_side", "right") != "left") return;
    input.pads_on_left = true;
    write_file_atomically(folder / "tokenizer/tokenizer_config.json",
                          R"({"pad_token": "[PAD]", "padding_side": "left"})");
  }

  data::PrepareRequest pairs(const std::string& name, const std::string& content) const {
    data::PrepareRequest made = request(name, content);
    made.recipe = sequence_to_sequence().recipe(input);
    return made;
  }
  std::string usage() const {
    try {
      sequence_to_sequence().recipe(input);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
      return error.render();
    }
    return "";
  }
};

TEST_CASE("pairs: batches equal those that the packages of the example scripts make of the same files") {
  for (const Json& entry : pair_golden().at("cases")) {
    CAPTURE(entry.at("name").get<std::string>());
    const PairFixture fixture(entry);
    data::PrepareRequest request = fixture.pairs(entry["file"], entry["content"]);
    request.validation_files = request.train_files;
    const data::PreparedData prepared = fixture.prepare(request);
    const auto train = data::Dataset::open(prepared.train->cache_path, prepared.train->columns);
    const auto valid = data::Dataset::open(prepared.validation->cache_path, prepared.validation->columns);
    const auto collator =
        data::padding_collator(sequence_to_sequence().padding(fixture.input, prepared.facts));
    for (const char* name : {"input_ids", "attention_mask", "labels"}) {
      CAPTURE(name);
      CHECK(batch_tensor(*collator, *train, every_sample(*train), name) == entry["batch"][name]);
    }
    CHECK(batch_tensor(*collator, *valid, every_sample(*valid), "labels") == entry["validation"]);
  }
}

const std::string kPair = R"({"text": "a b c", "summary": "d", "third": "e"})";
const std::string kBoth = R"({"translation": {"en": "a", "de": "b"}})";

TEST_CASE("pairs: without a limit texts are cut at that of the tokenizer") {
  PairFixture fixture;
  CHECK(sequence_to_sequence().longest(fixture.input) == 1024);
  CHECK(sequence_to_sequence().longest_target(fixture.input) == 128);
  fixture.arguments.data.val_max_target_length = 200;
  CHECK(sequence_to_sequence().longest_target(fixture.input) == 200);
  fixture.arguments.data.max_source_length = std::nullopt;
  fixture.input.tokenizer_max_length = 77;
  CHECK(sequence_to_sequence().longest(fixture.input) == 77);
}

TEST_CASE("pairs: what changes tokens makes another cache entry") {
  PairFixture fixture;
  std::set<std::string> folders;
  const auto is_new = [&] {
    return folders.insert(fixture.prepare(fixture.pairs("a.jsonl", kPair)).folder).second;
  };
  CHECK(is_new());
  CHECK_FALSE(is_new());
  fixture.arguments.data.source_prefix = "say: ";
  CHECK(is_new());
  fixture.arguments.data.summary_column = "third";
  CHECK(is_new());
  fixture.arguments.data.max_target_length = 2;
  CHECK(is_new());
  fixture.input.pad_to_max_length = true;
  CHECK(is_new());
  fixture.arguments.data.ignore_pad_token_for_loss = false;
  CHECK(is_new());
}

TEST_CASE("pairs: a tokenizer that wants to be told languages is refused, and no other one") {
  for (const char* name : {"", "T5TokenizerFast", "BartTokenizer", "PreTrainedTokenizerFast"}) {
    PairFixture fixture;
    fixture.input.tokenizer_class = name;
    CHECK_NOTHROW(sequence_to_sequence().recipe(fixture.input));
  }
  for (const char* name :
       {"MBartTokenizer", "MBart50TokenizerFast", "M2M100Tokenizer", "NllbTokenizerFast"}) {
    PairFixture fixture;
    fixture.input.tokenizer_class = name;
    try {
      sequence_to_sequence().recipe(fixture.input);
      FAIL("it was taken: " << name);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      CHECK_THAT(error.render(),
                 Contains(name) && Contains("tokenizer_config.json") && Contains("--source_prefix"));
    }
  }
}

TEST_CASE("pairs: summaries or a translation, with both of its languages") {
  PairFixture fixture;
  arguments::DataArguments& asked = fixture.arguments.data;
  fixture.arguments.run.task = "translation";
  CHECK_THAT(fixture.usage(), Contains("translation needs --source_lang"));
  asked.source_lang = "en_XX";
  CHECK_THAT(fixture.usage(), Contains("translation needs --target_lang"));
  asked.target_lang = "de";
  CHECK(fixture.usage().empty());
  CHECK(fixture.prepare(fixture.pairs("a.jsonl", kBoth)).train->samples == 1);
  asked.text_column = "text";
  CHECK_THAT(fixture.usage(), Contains("summarises or translates"));
  asked.text_column.reset();
  fixture.arguments.run.task = "summarization";
  CHECK_THAT(fixture.usage(), Contains("knows no languages"));
  fixture.arguments.run.task = "seq2seq";
  CHECK(fixture.usage().empty());
  asked.source_lang.reset(), asked.target_lang.reset();
  CHECK(fixture.usage().empty());
}

TEST_CASE("pairs: rows that cannot be learnt from are refused in four parts, with their place") {
  PairFixture fixture;
  const auto refusal = [&](const std::string& content, const std::string& name = "a.jsonl") {
    const std::string text = fixture.refusal(fixture.pairs(name, content));
    CHECK_THAT(text, Contains(name));
    return text;
  };
  CHECK_THAT(refusal(R"({"text": "a"})"), Contains("no column beside"));
  CHECK_THAT(refusal(kPair + "\n" + R"({"text": 3, "summary": "x"})"),
             Contains("a.jsonl:2") && Contains("a number"));
  CHECK_THAT(refusal(R"({"text": "", "summary": "x"})"), Contains("empty"));
  fixture.arguments.data.text_column = "story";
  CHECK_THAT(refusal(kPair), Contains("no column 'story'") && Contains("text, summary, third"));
  fixture.arguments.data.text_column = "summary";
  CHECK_THAT(refusal(kPair), Contains("the same column 'summary'"));
  fixture.arguments.data.text_column.reset();
  fixture.arguments.data.source_lang = "en", fixture.arguments.data.target_lang = "fr";
  CHECK_THAT(refusal(kPair), Contains("no column 'translation'"));
  CHECK_THAT(refusal(kBoth), Contains("no text in 'fr'") && Contains("en, de"));
  CHECK_THAT(refusal(R"({"translation": "a"})"), Contains("it is a string"));
  CHECK_THAT(refusal(R"({"translation": {"en": 1, "fr": "x"}})"),
             Contains("text in 'en'") && Contains("a number"));
}

TEST_CASE("pairs: there must be a length to pad to") {
  PairFixture fixture;
  fixture.arguments.data.max_source_length = std::nullopt;
  CHECK(fixture.usage().empty());
  fixture.input.pad_to_max_length = true;
  CHECK_THAT(fixture.usage(), Contains("no length to pad texts to"));
}

}  // namespace
}  // namespace hftrain::tasks
