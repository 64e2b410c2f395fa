// Files to samples, against what the packages of the example script made of the same files
// (scripts/golden/masked_lm.py), and from samples to masked batches.
#include "hftrain/data/masking.h"

#include "task_fixture.h"

namespace hftrain::tasks {
namespace {

using Catch::Contains;
using testing::integers_of;
using testing::matrices_of;
using testing::open_split;

const Json& mask_golden() {
  static const Json document = testing::golden_document("masked_lm.json");
  return document;
}

constexpr int64_t kMask = 4, kPad = 0;

struct MaskFixture : testing::TaskFixture {
  explicit MaskFixture(const std::string& tokenizer = "pieces")
      : TaskFixture(masked_lm(), mask_golden()["tokenizers"][tokenizer]) {
    input.mask_id = kMask;
    input.pad_id = kPad;
    input.tokenizer_size = 100;
  }
  data::PrepareRequest request(const std::string& name, const std::string& content) {
    data::PrepareRequest made = TaskFixture::request(name, content);
    made.survey_files.clear();
    made.block_size = row.longest(input);
    made.keep_linebreaks = false;
    return made;
  }
  std::unique_ptr<data::Collator> collator() const {
    return data::masking_collator(row.padding(input, nullptr), row.masking(input));
  }
};

void set_case(const Json& entry, MaskFixture& fixture) {
  fixture.arguments.data.max_seq_length = entry["max_seq_length"];
  fixture.arguments.data.line_by_line = entry.value("line_by_line", false);
}

TEST_CASE("samples to be masked equal those that the packages of the example script make of the files") {
  for (const Json& entry : mask_golden().at("cases")) {
    for (const bool whole_words : {false, true}) {
      CAPTURE(entry.at("name").get<std::string>(), whole_words);
      MaskFixture fixture(entry.value("tokenizer", std::string("pieces")));
      set_case(entry, fixture);
      fixture.arguments.data.whole_word_mask = whole_words;
      const auto dataset =
          open_split(fixture.prepare(fixture.request(entry["file"], entry["content"])).train);
      REQUIRE(dataset->size() == static_cast<int64_t>(entry["samples"].size()));
      for (int64_t i = 0; i < dataset->size(); ++i) {
        const Json& sample = entry["samples"][static_cast<size_t>(i)];
        CAPTURE(i);
        CHECK(Json(integers_of(*dataset, "input_ids", i)) == sample["input_ids"]);
        const std::vector<int64_t> roles = integers_of(*dataset, data::kMaskRoles, i);
        REQUIRE(roles.size() == sample["draws"].size());
        for (size_t at = 0; at < roles.size(); ++at) {
          CHECK((roles[at] == data::kNeverMasked) == (sample["special_tokens_mask"][at] == 1));
          const bool draws = roles[at] != data::kNeverMasked && (roles[at] == data::kMayBeMasked || at == 0);
          if (whole_words) CHECK(draws == (sample["draws"][at] == 1));
        }
      }
    }
  }
}

TEST_CASE("a batch of lines is padded, masked, and labelled where it is masked") {
  MaskFixture fixture;
  set_case(mask_golden()["cases"][2], fixture);
  fixture.arguments.data.mlm_probability = 0.5;
  const Json& entry = mask_golden()["cases"][2];
  const auto dataset = open_split(fixture.prepare(fixture.request("a.txt", entry["content"])).train);
  for (const bool left : {false, true}) {
    CAPTURE(left);
    fixture.input.pads_on_left = left;
    const std::vector<int64_t> samples = testing::all_samples_of(*dataset);
    const auto batch = matrices_of(*fixture.collator(), *dataset, samples, {3, 1});
    CHECK(batch.size() == 3);
    size_t masked = 0;
    for (size_t row = 0; row < samples.size(); ++row) {
      const auto& ids = batch.at("input_ids")[row];
      const auto& labels = batch.at("labels")[row];
      const std::vector<int64_t> before = integers_of(*dataset, "input_ids", samples[row]);
      const size_t begin = left ? ids.size() - before.size() : 0;
      for (size_t at = 0; at < ids.size(); ++at) {
        const bool padding = at < begin || at >= begin + before.size();
        CHECK(batch.at("attention_mask")[row][at] == (padding ? 0 : 1));
        if (padding) {
          CHECK(ids[at] == kPad);
          CHECK(labels[at] == -100);
        } else if (labels[at] == -100) {
          CHECK(ids[at] == before[at - begin]);
        } else {
          CHECK(labels[at] == before[at - begin]);
          ++masked;
        }
      }
    }
    CHECK(masked > 10);
  }
}

TEST_CASE("a sample is masked alike in any batch, and otherwise in another epoch") {
  MaskFixture fixture;
  set_case(mask_golden()["cases"][0], fixture);
  const auto dataset =
      open_split(fixture.prepare(fixture.request("a.txt", mask_golden()["cases"][0]["content"])).train);
  const auto collator = fixture.collator();
  const auto all = matrices_of(*collator, *dataset, testing::all_samples_of(*dataset), {7, 2});
  const auto alone = matrices_of(*collator, *dataset, {3, 1}, {7, 2});
  CHECK(alone.at("input_ids")[0] == all.at("input_ids")[3]);
  CHECK(alone.at("labels")[1] == all.at("labels")[1]);
  CHECK(matrices_of(*collator, *dataset, testing::all_samples_of(*dataset), {7, 3}).at("labels") !=
        all.at("labels"));
  // Blocks are full: the model is told of no padding.
  CHECK(all.size() == 2);
}

TEST_CASE("the length of what is masked follows the flag, the tokenizer and the model") {
  MaskFixture fixture;
  CHECK(fixture.row.longest(fixture.input) == 1024);
  fixture.input.tokenizer_max_length = 2048;
  CHECK(fixture.row.longest(fixture.input) == 1024);
  fixture.input.tokenizer_max_length = 512;
  CHECK(fixture.row.longest(fixture.input) == 512);
  fixture.input.model_positions = 128;
  CHECK(fixture.row.longest(fixture.input) == 128);
  fixture.arguments.data.max_seq_length = 600;
  CHECK(fixture.row.longest(fixture.input) == 512);
  fixture.arguments.data.max_seq_length = 64;
  CHECK(fixture.row.longest(fixture.input) == 64);
  fixture.arguments.data.line_by_line = true;
  CHECK(fixture.row.padding(fixture.input, nullptr).length == 0);
  fixture.input.pad_to_max_length = true;
  CHECK(fixture.row.padding(fixture.input, nullptr).length == 64);
}

TEST_CASE("what masking cannot work with is refused") {
  MaskFixture fixture;
  fixture.input.mask_id.reset();
  try {
    fixture.request("a.txt", "text\n");
    FAIL("it needs a mask token");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    CHECK_THAT(error.render(), Contains("no mask token") && Contains("mask_token"));
  }
  fixture.input.mask_id = kMask;
  fixture.arguments.data.line_by_line = true;
  CHECK_THAT(fixture.refusal(fixture.request("b.txt", "  \n\n\t\n"), ExitCode::kData),
             Contains("training data is empty"));
  CHECK_THAT(fixture.refusal(fixture.request("c.jsonl", "{\"text\": 3}\n"), ExitCode::kData),
             Contains("c.jsonl:1"));
  fixture.arguments.data.line_by_line = false;
  fixture.arguments.data.max_seq_length = 500;
  CHECK_THAT(fixture.refusal(fixture.request("d.txt", "short\n"), ExitCode::kData),
             Contains("does not fill a single block"));
}

TEST_CASE("rows that have room for special tokens alone are refused by their length") {
  MaskFixture fixture;
  fixture.arguments.data.line_by_line = true;
  for (const int64_t length : {1, 2}) {
    fixture.arguments.data.max_seq_length = length;
    CHECK_THAT(fixture.refusal(fixture.request("a.txt", "a line\n"), ExitCode::kUsage),
               Contains("have none to hide") && Contains("--max_seq_length 3 or more"));
  }
  fixture.arguments.data.max_seq_length = 3;
  CHECK(fixture.refusal(fixture.request("a.txt", "a line\n"), ExitCode::kUsage).empty());
}

TEST_CASE("what changes the tokens of masked samples makes another cache entry, and masking does not") {
  MaskFixture fixture;
  fixture.arguments.data.max_seq_length = 8;
  const std::string content = mask_golden()["cases"][0]["content"];
  const auto entry = [&] { return fixture.prepare(fixture.request("a.txt", content)).folder; };
  const std::string first = entry();
  fixture.arguments.data.mlm_probability = 0.5;
  CHECK(entry() == first);
  fixture.arguments.data.whole_word_mask = true;
  CHECK(entry() != first);
  fixture.arguments.data.whole_word_mask = false;
  fixture.arguments.data.line_by_line = true;
  CHECK(entry() != first);
}

}  // namespace
}  // namespace hftrain::tasks
