#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::tokenizer {
namespace {

std::shared_ptr<const Tokenizer> bert() {
  return Tokenizer::load(testing::source_dir() + "/tests/golden/tokenizer/bert_uncased");
}

constexpr std::string_view kQuestion = "The quick fox?";
constexpr std::string_view kContext =
    "The quick brown fox jumps over the lazy dog, and then it is gone for good.";

EncodeOptions cut_to(int64_t max_length, TruncationStrategy strategy, int64_t stride = 0) {
  return {.truncation = Truncation{.max_length = max_length, .strategy = strategy, .stride = stride},
          .windows = true};
}

std::string refusal_of(const EncodeInput& input, const EncodeOptions& options) {
  try {
    bert()->encode(input, options);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
}

}  // namespace

TEST_CASE("windows of a context cover all its tokens, each with the question and room for special tokens") {
  const auto tokenizer = bert();
  const Encoding whole = tokenizer->encode_pair(kQuestion, kContext, {});
  const auto options = cut_to(20, TruncationStrategy::kOnlySecond, 4);
  const Encoding first = tokenizer->encode_pair(kQuestion, kContext, options);
  REQUIRE(first.overflowing.size() >= 2);
  std::vector<bool> covered(whole.size());
  const auto cover = [&](const Encoding& window) {
    CHECK(window.size() <= 20);
    CHECK(window.ids.front() == tokenizer->token_to_id("[CLS]"));
    const auto sequences = window.sequence_ids();
    for (size_t i = 0; i < window.size(); ++i) {
      if (sequences[i] != 1) continue;
      CHECK(window.type_ids[i] == 1);
      const auto token = whole.char_to_token(window.offsets[i].first, 1);
      REQUIRE(token);
      CHECK(whole.ids[*token] == window.ids[i]);
      covered[*token] = true;
    }
  };
  cover(first);
  for (const Encoding& window : first.overflowing) cover(window);
  const auto sequences = whole.sequence_ids();
  for (size_t i = 0; i < whole.size(); ++i) CHECK(covered[i] == (sequences[i] == 1));
}

TEST_CASE("windows are made only where they are asked for") {
  auto options = cut_to(16, TruncationStrategy::kLongestFirst, 2);
  options.windows = false;
  const Encoding encoding = bert()->encode_pair(kQuestion, kContext, options);
  CHECK(encoding.size() == 16);
  CHECK(encoding.overflowing.empty());
}

TEST_CASE("words keep their numbers through tokens, and special tokens have none") {
  const std::vector<std::string> words = {"Köln", "", "lies", "beautiful"};
  const auto tokenizer = bert();
  TokenRow row;
  tokenizer->encode_row({words}, {}, row);
  const Encoding encoding = tokenizer->encode(EncodeInput{words}, {});
  CHECK(row.ids == encoding.ids);
  CHECK(row.word_ids == encoding.word_ids);
  CHECK(row.word_ids.front() == kUnassigned);
  CHECK(row.word_ids.back() == kUnassigned);
  CHECK(std::count(row.word_ids.begin(), row.word_ids.end(), 1) == 0);
  CHECK(std::count(row.word_ids.begin(), row.word_ids.end(), 3) >= 1);
}

TEST_CASE("what cannot be cut is refused with a reason") {
  using enum TruncationStrategy;
  const EncodeInput one{kContext}, two{kQuestion, kContext};
  CHECK_THAT(refusal_of(one, cut_to(1, kLongestFirst)), Catch::Contains("2 special tokens"));
  CHECK_THAT(refusal_of(one, cut_to(8, kOnlySecond)), Catch::Contains("there is none"));
  CHECK_THAT(refusal_of(two, cut_to(9, kOnlyFirst)), Catch::Contains("only the first text"));
  CHECK_THAT(refusal_of(one, cut_to(6, kLongestFirst, 4)), Catch::Contains("share 4"));
  std::string long_text;
  for (int i = 0; i < 40000; ++i) long_text += "dog ";
  CHECK_THAT(refusal_of({long_text, long_text}, cut_to(8, kLongestFirst)), Catch::Contains("too many"));
}

TEST_CASE("tokenizer_config.json names special tokens and sides") {
  const auto tokenizer = bert();
  CHECK_FALSE(tokenizer->pads_on_left());
  CHECK_FALSE(tokenizer->truncates_from_left());
  CHECK_FALSE(tokenizer->mask_id());  // there is no such file here
  CHECK(tokenizer->special_ids().empty());
}

}  // namespace hftrain::tokenizer
