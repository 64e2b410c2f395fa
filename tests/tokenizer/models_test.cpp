#include <functional>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/token_trie.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/vocabulary_part.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

std::shared_ptr<const Tokenizer> with_model(const Json& model) {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json", dump_json(Json{{"version", "1.0"}, {"model", model}}));
  return Tokenizer::load(folder.path());
}

std::string refused_model(const Json& model) {
  try {
    with_model(model);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kData);
    return error.render();
  }
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Json kWordPiece = {
    {"type", "WordPiece"},
    {"unk_token", "[UNK]"},
    {"continuing_subword_prefix", "##"},
    {"max_input_chars_per_word", 5},
    {"vocab", {{"[UNK]", 0}, {"un", 1}, {"##aff", 2}, {"##a", 3}, {"##able", 4}, {"東", 5}}}};
const Json kWordLevel = {{"type", "WordLevel"}, {"unk_token", "?"}, {"vocab", {{"?", 0}, {"a", 1}}}};
Json scored(const std::vector<std::pair<std::string, Json>>& tokens) {
  Json list = Json::array();
  for (const auto& [token, score] : tokens) list.push_back(Json::array({token, score}));
  return list;
}

const Json kUnigram = {
    {"type", "Unigram"},
    {"unk_id", 0},
    {"vocab", scored({{"?", 0.0}, {"a", -1.0}, {"b", -1.0}, {"ab", -2.0}, {"ba", -1.5}, {"c", -3.0}})}};

Json without(Json model, const char* key) {
  model.erase(key);
  return model;
}

Json with(Json model, const char* key, const Json& value) {
  model[key] = value;
  return model;
}

}  // namespace

TEST_CASE("a word takes the longest token at every place, or is unknown as a whole") {
  const auto tokenizer = with_model(with(kWordPiece, "max_input_chars_per_word", 100));
  CHECK(tokenizer->encode("unaffable", false).ids == std::vector<TokenId>{1, 2, 4});
  CHECK(tokenizer->encode("unaffa", false).tokens == std::vector<std::string>{"un", "##aff", "##a"});
  CHECK(tokenizer->encode("unaffx", false).ids == std::vector<TokenId>{0});
  CHECK(tokenizer->encode("affun", false).tokens == std::vector<std::string>{"[UNK]"});
  CHECK(tokenizer->encode("", false).ids.empty());
}

TEST_CASE("characters, not bytes, decide whether a word is too long") {
  const auto tokenizer = with_model(with(kWordPiece, "max_input_chars_per_word", 1));
  CHECK(tokenizer->encode("東", false).ids == std::vector<TokenId>{5});
  CHECK(tokenizer->encode("un", false).ids == std::vector<TokenId>{0});
  const auto never = with_model(with(kWordPiece, "max_input_chars_per_word", 0));
  CHECK(never->encode("東", false).ids == std::vector<TokenId>{0});
}

TEST_CASE("of two ways with one score the one that was found first stays") {
  const auto tokenizer = with_model(kUnigram);
  CHECK(tokenizer->encode("ab", false).tokens == std::vector<std::string>{"ab"});
  CHECK(tokenizer->encode("aba", false).tokens == std::vector<std::string>{"a", "ba"});
}

TEST_CASE("unknown neighbours are one token that is called by their text") {
  const Encoding encoding = with_model(kUnigram)->encode("aéßb?", false);
  CHECK(encoding.ids == std::vector<TokenId>{1, 0, 2, 0});
  CHECK(encoding.tokens == std::vector<std::string>{"a", "éß", "b", "?"});
  CHECK(encoding.offsets[1] == std::pair<int64_t, int64_t>{1, 3});
}

TEST_CASE("a text that needs an unknown token that is not there is refused when it comes") {
  const auto refused_text = [](const Json& model) -> std::string {
    const auto tokenizer = with_model(model);
    try {
      tokenizer->encode("x", false);
      return "";
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kData);
      return error.render();
    }
  };
  CHECK(says(refused_text(with(kWordPiece, "unk_token", "<unk>")), "<unk>"));
  CHECK(says(refused_text(with(kWordLevel, "unk_token", "<unk>")), "<unk>"));
  CHECK(says(refused_text(with(kUnigram, "unk_id", nullptr)), "unk_id"));
  CHECK(refused_text(kUnigram).empty());
}

// Ids and places of the package, which has those of the last bytes outside of the text as well.
TEST_CASE("a character with its prefix has more bytes than the text, and its tokens come as in the package") {
  Json vocabulary = {{"<unk>", 0}, {"▁", 1}, {"a", 2}, {"@a", 3}};
  for (const char* byte : {"<0x40>", "<0xC3>", "<0xA9>"}) vocabulary[byte] = vocabulary.size();
  const Json model = {{"type", "BPE"},         {"unk_token", "<unk>"}, {"continuing_subword_prefix", "@"},
                      {"byte_fallback", true}, {"vocab", vocabulary},  {"merges", Json::array()}};
  const Json cut = {
      {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}, {"split", false}};
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "tokenizer.json",
                        dump_json(Json{{"version", "1.0"}, {"model", model}, {"pre_tokenizer", cut}}));
  const Encoding encoding = Tokenizer::load(folder.path())->encode("éé", false);
  CHECK(encoding.ids == std::vector<TokenId>{1, 4, 5, 6, 4, 5, 6});
  CHECK(encoding.offsets ==
        std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {0, 1}, {0, 1}, {1, 2}, {1, 2}, {7, 8}, {8, 9}});
}

TEST_CASE("models of files without a type are told by their members") {
  CHECK(with_model(without(kWordPiece, "type"))->encode("unaff", false).ids == std::vector<TokenId>{1, 2});
  CHECK(with_model(without(kWordLevel, "type"))->encode("a", false).ids == std::vector<TokenId>{1});
  CHECK(with_model(without(kUnigram, "type"))->encode("c", false).ids == std::vector<TokenId>{5});
}

TEST_CASE("a torn model is refused with the member that is wrong") {
  CHECK(says(refused_model(without(kWordPiece, "continuing_subword_prefix")), "continuing_subword_prefix"));
  CHECK(says(refused_model(with(kWordPiece, "max_input_chars_per_word", -1)), "max_input_chars_per_word"));
  CHECK(says(refused_model(with(kWordPiece, "vocab", Json::array())), "model.vocab"));
  CHECK(says(refused_model(without(kWordLevel, "unk_token")), "unk_token"));
  CHECK(says(refused_model(with(kWordLevel, "vocab", {{"a", "b"}})), "'a'"));
  CHECK(says(refused_model(with(kUnigram, "unk_id", 6)), "unk_id"));
  CHECK(says(refused_model(with(kUnigram, "unk_id", -1)), "unk_id"));
  CHECK(says(refused_model(with(kUnigram, "vocab", Json::array())), "empty"));
  CHECK(
      says(refused_model(with(kUnigram, "vocab", Json::array({Json::array({"a", 0.0}), Json::array({"b"})}))),
           "entry 1"));
  CHECK(says(refused_model(with(kUnigram, "vocab", scored({{"a", "x"}}))), "entry 0"));
  CHECK(says(refused_model({{"type", "Magic"}}), "WordPiece"));
}

TEST_CASE("scores are read as the package reads them, a bit beside the nearest double or not") {
  const std::pair<const char*, double> numbers[] = {{"-15.275492379532281", -15.27549237953228},
                                                    {"-1.8771917354846979", -1.877191735484698},
                                                    {"3.9713457702896095e-147", 3.97134577028961e-147},
                                                    {"-3.0291123390197754", -3.0291123390197754},
                                                    {"-0.000012345678901234567", -1.2345678901234567e-5},
                                                    {"5e-324", 5e-324},
                                                    {"-7", -7.0},
                                                    {"0.0", 0.0}};
  std::string list;
  for (const auto& [text, value] : numbers)
    list += std::string(list.empty() ? "[" : ", ") + "[\"a\", " + text + "]";
  simdjson::dom::parser parser;
  const std::string file = "tokenizer.json";
  const ScoredVocabulary read = read_scored_vocabulary(JsonPart(parser.parse(list + "]"), file));
  REQUIRE(read.scores.size() == std::size(numbers));
  for (size_t i = 0; i < read.scores.size(); ++i) CHECK(read.scores[i] == numbers[i].second);
}

TEST_CASE("a trie finds every token that a text begins with, and no other") {
  Vocabulary vocabulary;
  const std::vector<std::string> tokens = {"", "b", "abc", "a", "ab", "東京", "東", "\x7F", "zz"};
  for (size_t i = 0; i < tokens.size(); ++i) vocabulary.add(tokens[i], static_cast<TokenId>(i));
  const TokenTrie trie(vocabulary);
  for (size_t i = 1; i < tokens.size(); ++i) {
    const auto node = trie.walk(TokenTrie::kRoot, tokens[i]);
    REQUIRE(node != TokenTrie::kNowhere);
    CHECK(trie.token_at(node) == static_cast<TokenId>(i));
  }
  CHECK(trie.token_at(TokenTrie::kRoot) == kNoToken);
  CHECK(trie.token_at(trie.walk(TokenTrie::kRoot, "z")) == kNoToken);
  CHECK(trie.walk(TokenTrie::kRoot, "zza") == TokenTrie::kNowhere);
  CHECK(trie.walk(TokenTrie::kRoot, "c") == TokenTrie::kNowhere);
  for (char byte = '0'; byte <= '9'; ++byte) vocabulary.add(std::string("many") + byte, byte);
  const TokenTrie wide(vocabulary);  // a node with more children than are looked at one by one
  for (char byte = '0'; byte <= '9'; ++byte)
    CHECK(wide.token_at(wide.walk(TokenTrie::kRoot, std::string("many") + byte)) == byte);
  CHECK(wide.walk(TokenTrie::kRoot, "many:") == TokenTrie::kNowhere);
  CHECK(wide.walk(TokenTrie::kRoot, "many/") == TokenTrie::kNowhere);
  CHECK(TokenTrie(Vocabulary()).step(TokenTrie::kRoot, 'a') == TokenTrie::kNowhere);
}

}  // namespace hftrain::tokenizer
