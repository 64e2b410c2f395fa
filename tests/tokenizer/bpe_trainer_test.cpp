#include "hftrain/tokenizer/bpe_trainer.h"

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/tokenizer_writer.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

const std::string kTrainingFolder = testing::source_dir() + "/tests/golden/tokenizer/training/";

LearnedMerges learn(std::string_view text, BpeTrainingOptions options) {
  BpeTrainer trainer(std::move(options));
  trainer.add_text(text);
  return trainer.train();
}

void write_trained(const LearnedMerges& trained, const BpeTrainingOptions& options,
                   const std::string& folder) {
  write_tokenizer(byte_level_draft(), byte_level_model(trained), options.special_tokens, true, folder);
}

}  // namespace

TEST_CASE("training finds the vocabulary and the merges of the package's trainer") {
  const BpeTrainingOptions options{
      .vocab_size = 700, .min_frequency = 2, .special_tokens = {"<|endoftext|>", "<pad>"}};
  const LearnedMerges trained = learn(read_file(kTrainingFolder + "text.txt"), options);
  const testing::TemporaryDirectory folder;
  write_trained(trained, options, folder.path());
  const Json ours = read_json_file(folder / "tokenizer.json").at("model");
  const Json theirs = read_json_file(kTrainingFolder + "expected.json").at("model");
  CHECK(ours.at("vocab") == theirs.at("vocab"));
  CHECK(ours.at("merges") == theirs.at("merges"));
}

TEST_CASE("a trained tokenizer loads, knows its special tokens and gives the text back") {
  const BpeTrainingOptions options{.vocab_size = 300, .min_frequency = 1};
  const testing::TemporaryDirectory folder;
  write_trained(learn("low lower lowest low low\n", options), options, folder.path());
  const auto tokenizer = Tokenizer::load(folder.path());
  CHECK(tokenizer->eos_id() == 0);
  CHECK(tokenizer->bos_id() == 0);
  CHECK_FALSE(tokenizer->pad_id());
  CHECK_FALSE(tokenizer->model_max_length());
  const std::string text = "lower \xE6\x9D\xB1\xF0\x9F\x91\x8D<|endoftext|> low";
  CHECK(tokenizer->decode(tokenizer->encode(text, true).ids, false) == text);
  CHECK(tokenizer->encode("low", true).tokens == std::vector<std::string>{"low"});
}

TEST_CASE("of pairs equally frequent the one with the smaller ids merges first") {
  const LearnedMerges trained =
      learn("ab cd ab cd", {.vocab_size = 259, .min_frequency = 1, .special_tokens = {}});
  REQUIRE(trained.merges.size() == 3);
  CHECK(trained.tokens[256] == "ab");
}

TEST_CASE("training stops where no pair is frequent enough") {
  CHECK(learn("abcdef", {.vocab_size = 1000, .min_frequency = 2}).merges.empty());
  CHECK(learn("", {.vocab_size = 1000, .min_frequency = 0}).merges.empty());
}

TEST_CASE("a vocabulary too small for the bytes is refused") {
  CHECK_REFUSED(BpeTrainer({.vocab_size = 256}), "--vocab_size 256 is too small");
  CHECK_NOTHROW(BpeTrainer({.vocab_size = 257}));
  CHECK_REFUSED(BpeTrainer({.vocab_size = 400, .special_tokens = {""}}), "a special token cannot be empty");
}

}  // namespace hftrain::tokenizer
