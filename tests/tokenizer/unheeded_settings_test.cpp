#include "hftrain/tokenizer/unheeded_settings.h"

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/class_pipelines.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

// What is said of a golden tokenizer beside this tokenizer_config.json, and that config.json if there is one.
std::vector<std::string> said_of(const std::string& golden, const Json& config,
                                 const std::string& model_type = "") {
  const std::string from = testing::source_dir() + "/tests/golden/tokenizer/" + golden + "/tokenizer.json";
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json", read_file(from, ExitCode::kData));
  write_file_atomically(folder / "tokenizer_config.json", dump_json(config));
  if (!model_type.empty())
    write_file_atomically(folder / "config.json", dump_json(Json{{"model_type", model_type}}));
  return unheeded_settings(*Tokenizer::load(folder.path()));
}

}  // namespace

TEST_CASE("A folder whose files agree has nothing that is not heeded") {
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizerFast"}, {"do_lower_case", true}}).empty());
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", false}})
            .empty());
  CHECK(said_of("llama2", {{"tokenizer_class", "LlamaTokenizer"}, {"legacy", false}}).empty());
  CHECK(said_of("bert_uncased", Json::object()).empty());
  for (const char* name : {"RobertaTokenizer", "BartTokenizerFast", "LEDTokenizer"})
    CHECK(said_of("roberta", {{"tokenizer_class", name}, {"add_prefix_space", false}}).empty());
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "ElectraTokenizer"}, {"do_lower_case", true}}).empty());
  CHECK(said_of("llama3", {{"tokenizer_class", "PreTrainedTokenizerFast"}}, "llama").empty());
  CHECK(said_of("t5", {{"tokenizer_class", "T5Tokenizer"}, {"legacy", true}}, "t5").empty());
  CHECK(said_of("qwen2", {{"tokenizer_class", "Qwen2Tokenizer"}, {"split_special_tokens", false}}, "qwen2")
            .empty());
}

// AutoTokenizer then takes the file as it is.
TEST_CASE("A class that is not that of the model beside it has nothing that is not heeded") {
  CHECK(said_of("llama2_old", {{"tokenizer_class", "LlamaTokenizer"}}, "mistral").empty());
  CHECK(said_of("llama3", {{"tokenizer_class", "LlamaTokenizerFast"}}, "deepseek_v3").empty());
  CHECK(said_of("llama3", {{"tokenizer_class", "LlamaTokenizerFast"}}, "gemma").size() == 1);
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
  CHECK(said_of("llama3", {{"tokenizer_class", "LlamaTokenizerFast"}}, "llama") ==
        Said{"LlamaTokenizer of transformers 5 has a Metaspace in the place of the file's ByteLevel when it "
             "opens a folder, and makes other tokens of nearly every text"});
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "ElectraTokenizerFast"}, {"do_lower_case", false}}) ==
        Said{"do_lower_case is false, and the normalizer's lowercase true"});
  for (const char* name : {"RobertaTokenizer", "BartTokenizerFast", "LEDTokenizer"})
    CHECK(said_of("roberta", {{"tokenizer_class", name}, {"add_prefix_space", true}}) ==
          Said{"add_prefix_space is true, and the pre-tokenizer's false"});
}

TEST_CASE("Parts that a class of transformers builds anew are said, by what the file has in their place") {
  using Said = std::vector<std::string>;
  const auto of = [](const std::string& tokenizer_class, const Json& normalizer, const Json& pre_tokenizer,
                     const Json& post_processor) {
    return replaced_parts(tokenizer_class, {normalizer, pre_tokenizer, post_processor});
  };
  const Json bytes = {{"type", "ByteLevel"}, {"use_regex", true}}, split = {{"type", "Split"}};
  const Json cut = {{"type", "ByteLevel"}, {"use_regex", false}};
  const Json by_pattern = {{"type", "Sequence"}, {"pretokenizers", {split, cut}}};
  const Json nfc = {{"type", "NFC"}}, special = {{"SpecialToken", {{"id", "</s>"}}}},
             text = {{"Sequence", {{"id", "A"}}}};
  const Json ends = {{"type", "TemplateProcessing"}, {"single", Json::array({text, special})}};
  CHECK(of("GPT2Tokenizer", nullptr, bytes, nullptr).empty());
  CHECK(of("GPT2Tokenizer", nfc, by_pattern, nullptr) ==
        Said{"GPT2Tokenizer of transformers 5 has no normalizer, the file NFC",
             "GPT2Tokenizer of transformers 5 has the pre-tokenizer ByteLevel, the file Split, "
             "ByteLevel-without-its-pattern"});
  CHECK(of("Qwen2Tokenizer", nfc, by_pattern, nullptr).empty());
  CHECK(of("RobertaTokenizer", nullptr, bytes, nullptr) ==
        Said{"RobertaTokenizer of transformers 5 puts tokens around every text (1 before and 1 behind), the "
             "file's "
             "post-processor 0 before and 0 behind"});
  CHECK(of("RobertaTokenizer", nullptr, bytes, {{"type", "RobertaProcessing"}}).empty());
  CHECK(of("T5Tokenizer", nullptr, {{"type", "Metaspace"}}, nullptr).size() == 2);
  const Json pieces = {
      {"type", "Sequence"},
      {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, {{"type", "Metaspace"}}})}};
  CHECK(of("T5Tokenizer", {{"type", "Precompiled"}}, pieces, ends).empty());
  CHECK(of("T5Tokenizer", nfc, pieces, {{"type", "Sequence"}, {"processors", Json::array({ends})}}) ==
        Said{"T5Tokenizer of transformers 5 has no normalizer, the file NFC"});
  CHECK(of("XLMRobertaTokenizer", nullptr, pieces, ends).size() == 1);
  CHECK(of("BertTokenizer", nullptr, nullptr, nullptr).size() == 3);
  CHECK(of("TokenizersBackend", nfc, nullptr, nullptr).empty());
  // The class of the model beside it.
  CHECK(said_of("gpt2", Json::object(), "roberta").size() == 1);
  CHECK(said_of("gpt2", Json::object()).empty());
}

TEST_CASE("Spaces that a class of pieces makes other tokens of are said") {
  using Said = std::vector<std::string>;
  const Json special = {{"SpecialToken", {{"id", "</s>"}}}}, text = {{"Sequence", {{"id", "A"}}}};
  const Json ends = {{"type", "TemplateProcessing"}, {"single", Json::array({text, special})}};
  const auto of = [&](const std::string& tokenizer_class, const Json& normalizer, const Json& pre_tokenizer) {
    return replaced_parts(tokenizer_class, {normalizer, pre_tokenizer, ends});
  };
  const auto sequence = [](const char* list, const Json& parts) {
    return Json{{"type", "Sequence"}, {list, parts}};
  };
  const Json cut = {{"type", "WhitespaceSplit"}}, marks = {{"type", "Metaspace"}};
  const Json first = {{"type", "Metaspace"}, {"prepend_scheme", "first"}};
  const Json old = {{"type", "Metaspace"}, {"add_prefix_space", false}};
  const Json both = sequence("pretokenizers", Json::array({cut, marks}));
  const auto stripped = [&](bool right) {
    const Json strip = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", right}};
    return sequence("normalizers", Json::array({{{"type", "Precompiled"}}, strip}));
  };
  const Said ending{
      "T5Tokenizer of transformers 5 has a WhitespaceSplit, and the file makes tokens of spaces that end a "
      "text"};
  CHECK(of("T5Tokenizer", nullptr, both).empty());
  CHECK(of("T5Tokenizer", stripped(true), marks).empty());
  CHECK(of("T5Tokenizer", stripped(false), marks) == ending);
  CHECK(of("T5Tokenizer", nullptr, marks) == ending);
  CHECK(of("T5Tokenizer", stripped(true), first) ==
        Said{"T5Tokenizer of transformers 5 has a Metaspace with the prepend_scheme always, the file first"});
  CHECK(of("T5Tokenizer", stripped(true), old).size() == 1);
  CHECK(of("PegasusTokenizer", nullptr, marks).empty());
  CHECK(of("PegasusTokenizer", nullptr, both) ==
        Said{"PegasusTokenizer of transformers 5 has no WhitespaceSplit, and makes tokens of spaces that end "
             "a text"});
  CHECK(of("DebertaV2Tokenizer", nullptr, marks).size() == 1);  // of the tokens around a text alone
}

TEST_CASE("Special tokens that transformers looks for in another way are said, whatever the class") {
  using Said = std::vector<std::string>;
  const auto decoder = [](const char* content, const char* flag, bool value) {
    const Json tokens = {{"0", {{"content", content}, {flag, value}}}};
    return Json{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"added_tokens_decoder", tokens}};
  };
  CHECK(said_of("gpt2", decoder("<|endoftext|>", "rstrip", true)) ==
        Said{"its added_tokens_decoder gives \"<|endoftext|>\" the rstrip true, and tokenizer.json false"});
  CHECK(said_of("gpt2", decoder("<|endoftext|>", "rstrip", false)).empty());
  CHECK(said_of("gpt2", decoder("<|endoftext|>", "special", false)).empty());
  // A normal form makes no difference where the pipeline has none.
  CHECK(said_of("gpt2", decoder("<|endoftext|>", "normalized", true)).empty());
  CHECK(said_of("bert_uncased", decoder("[MASK]", "normalized", true)).size() == 1);
  CHECK(said_of("gpt2", {{"split_special_tokens", true}}) ==
        Said{"split_special_tokens is true, and special tokens in a text are single tokens here"});
}

TEST_CASE("Tokens around every text, and of unknown words, that are not those of the file are said by name") {
  using Said = std::vector<std::string>;
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"cls_token", "[MASK]"}}) ==
        Said{"BertTokenizer of transformers 5 puts \"[MASK]\" before every text, the cls_token, and the "
             "file's post-processor \"[CLS]\""});
  CHECK(said_of("roberta", {{"tokenizer_class", "RobertaTokenizer"}, {"sep_token", "<mask>"}}) ==
        Said{"RobertaTokenizer of transformers 5 puts \"<mask>\" behind every text, the sep_token, and the "
             "file's post-processor \"</s>\""});
  CHECK(said_of("roberta", {{"tokenizer_class", "RobertaTokenizer"}, {"bos_token", "<mask>"}}).empty());
  CHECK(said_of("t5", {{"tokenizer_class", "T5Tokenizer"}, {"eos_token", "<pad>"}}, "t5") ==
        Said{"T5Tokenizer of transformers 5 puts \"<pad>\" behind every text, the eos_token, and the file's "
             "post-processor \"</s>\""});
  CHECK(
      said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"unk_token", "[MASK]"}}) ==
      Said{"BertTokenizer of transformers 5 makes \"[MASK]\" of unknown words, the unk_token, and the file's "
           "model \"[UNK]\""});
  // Such as the class takes from the file, or that stand around no text.
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"cls_token", "[MASK]"}})
            .empty());
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "BertTokenizer"}, {"pad_token", "[MASK]"}}).empty());
  // transformers writes the name that it has, and the id that it means.
  const Json text = {{"Sequence", {{"id", "A"}}}}, end = {{"SpecialToken", {{"id", "</s>"}}}};
  const Json ends = {{"type", "TemplateProcessing"},
                     {"single", Json::array({text, end})},
                     {"special_tokens", {{"</s>", {{"ids", {7}}}}}}};
  const Json cut = {{"type", "Sequence"},
                    {"pretokenizers", Json::array({{{"type", "WhitespaceSplit"}}, {{"type", "Metaspace"}}})}};
  const FileParts parts = {nullptr, cut, ends, nullptr, {{"eos_token", {"<end>", 7}}}};
  CHECK(replaced_parts("T5Tokenizer", parts).empty());
}

TEST_CASE(
    "Special tokens that tokenizer.json has among its pieces alone are said, and those that it lacks are "
    "not") {
  using Said = std::vector<std::string>;
  const std::string begin =
      "special tokens that are no added tokens of tokenizer.json are found whole in a text there, and as any "
      "text here: ";
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"eos_token", "the"}}) ==
        Said{begin + "the"});
  CHECK(said_of("bert_uncased", {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"extra_special_tokens", {"the", "[SEP]"}}}) == Said{begin + "the"});
  CHECK(said_of("gemma", {{"tokenizer_class", "GemmaTokenizer"}}, "gemma").empty());
  CHECK(said_of("llama2", {{"tokenizer_class", "LlamaTokenizer"}, {"legacy", false}, {"pad_token", nullptr}},
                "llama")
            .empty());
}

TEST_CASE("An added token that the normalizer makes nothing of is said, with what it needs") {
  const auto said = [](bool normalized) {
    const Json token = {{"id", 1}, {"content", "\n"}, {"normalized", normalized}};
    const Json file = {{"version", "1.0"},
                       {"added_tokens", Json::array({token})},
                       {"normalizer", {{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}}},
                       {"model", {{"type", "WordLevel"}, {"unk_token", "a"}, {"vocab", {{"a", 0}}}}}};
    const testing::TemporaryDirectory folder;
    write_file_atomically(folder / "tokenizer.json", dump_json(file));
    return unheeded_settings(*Tokenizer::load(folder.path()));
  };
  REQUIRE(said(true).size() == 1);
  CHECK_THAT(said(true).front(), Catch::Contains(R"(makes nothing of its added token "\n")"));
  CHECK(said(false).empty());
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
