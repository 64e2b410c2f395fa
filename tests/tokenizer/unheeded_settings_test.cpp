#include "hftrain/tokenizer/unheeded_settings.h"

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

// What is said of a golden tokenizer beside this tokenizer_config.json.
std::vector<std::string> said_of(const std::string& golden, const Json& config) {
  const std::string from = testing::source_dir() + "/tests/golden/tokenizer/" + golden + "/tokenizer.json";
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json", read_file(from, ExitCode::kData));
  write_file_atomically(folder / "tokenizer_config.json", dump_json(config));
  return unheeded_settings(*Tokenizer::load(folder.path()));
}

}  // namespace

TEST_CASE("A folder whose files agree has nothing that is not heeded") {
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizerFast"}, {"do_lower_case", true}}).empty());
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", false}})
            .empty());
  CHECK(said_of("llama2", {{"tokenizer_class", "LlamaTokenizer"}, {"legacy", false}}).empty());
  CHECK(said_of("bert_uncased", Json::object()).empty());
}

TEST_CASE("What transformers builds of tokenizer_config.json and the pipeline does not have is said") {
  using Said = std::vector<std::string>;
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}}) ==
        Said{"do_lower_case is false, and the normalizer's lowercase true"});
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"strip_accents", false}}) ==
        Said{"strip_accents is false, and the normalizer's null"});
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"tokenize_chinese_chars", false}}) ==
        Said{"tokenize_chinese_chars is false, and the normalizer's handle_chinese_chars true"});
  CHECK(said_of("llama2", {{"tokenizer_class", "LlamaTokenizer"}, {"legacy", true}}) ==
        Said{"its legacy and add_prefix_space ask for the prepend_scheme always, and the pre-tokenizer has "
             "first"});
  CHECK(said_of("llama2_old", {{"tokenizer_class", "LlamaTokenizerFast"}}).size() == 1);
}

TEST_CASE("Tokens that only tokenizer_config.json names are told as other text") {
  using Said = std::vector<std::string>;
  const std::string begin =
      "tokens that it names are added to the vocabulary there, and are other text here: ";
  CHECK(said_of("bert_uncased", {{"additional_special_tokens", {"<extra>", "[MASK]"}}}) ==
        Said{begin + "<extra>"});
  CHECK(said_of("bert_uncased", {{"pad_token", {{"content", "<newpad>"}}}, {"eos_token", nullptr}}) ==
        Said{begin + "<newpad>"});
  CHECK(said_of("bert_uncased",
                {{"added_tokens_decoder", {{"500", {{"content", "<m>"}, {"special", true}}}}}}) ==
        Said{begin + "<m>"});
}

}  // namespace hftrain::tokenizer
