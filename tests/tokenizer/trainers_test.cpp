// The trainers of the models beside BPE.
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <map>
#include <thread>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/substring_seeds.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/tokenizer_training.h"
#include "hftrain/tokenizer/unigram_lattice.h"
#include "hftrain/tokenizer/unigram_trainer.h"
#include "hftrain/tokenizer/word_level_trainer.h"
#include "hftrain/tokenizer/word_piece_trainer.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

const std::string kTrainersFolder = testing::source_dir() + "/tests/golden/tokenizer/training/";

std::vector<std::string> special_tokens_of(const Json& file) {
  std::vector<std::string> tokens;
  for (const Json& token : file.at("added_tokens")) tokens.push_back(token.at("content"));
  return tokens;
}

// Our tokenizer.json for the golden text.
Json trained_on_golden_text(const TokenizerTraining& training) {
  const testing::TemporaryDirectory folder;
  train_tokenizer(training, {kTrainersFolder + "text.txt"}, folder.path());
  return read_json_file(folder / "tokenizer.json");
}

WordCounts counts_of(const std::vector<std::pair<std::string, int64_t>>& words) {
  WordCounts counts;
  for (const auto& [word, count] : words) counts.add(word, count);
  return counts;
}

std::string refused_training(const TokenizerTraining& training, const std::string& text = "a b\n") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "text", text);
  try {
    train_tokenizer(training, {folder / "text"}, folder / "out");
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK_FALSE(path_exists(folder / "out/tokenizer.json"));
    return error.render();
  }
}

}  // namespace

TEST_CASE("training finds the vocabulary of the package's WordPiece trainer") {
  const Json theirs = read_json_file(kTrainersFolder + "word_piece.json");
  const Json ours = trained_on_golden_text(
      {.kind = TokenizerKind::kWordPiece, .vocab_size = 900, .special_tokens = special_tokens_of(theirs)});
  CHECK(ours.at("model") == theirs.at("model"));
  CHECK(ours.at("normalizer") == theirs.at("normalizer"));
  CHECK(ours.at("added_tokens") == theirs.at("added_tokens"));
}

TEST_CASE("training finds the vocabulary of the package's WordLevel trainer") {
  const Json theirs = read_json_file(kTrainersFolder + "word_level.json");
  const Json ours = trained_on_golden_text({.kind = TokenizerKind::kWordLevel, .vocab_size = 150});
  CHECK(ours.at("model") == theirs.at("model"));
  CHECK(ours.at("added_tokens") == theirs.at("added_tokens"));
}

TEST_CASE("characters inside of words carry the prefix, and a limit keeps the most frequent ones") {
  const WordCounts words = counts_of({{"abab", 5}, {"b", 9}, {"zb", 1}});
  const WordPieceTrainingOptions options{
      .vocab_size = 8, .min_frequency = 1, .limit_alphabet = 2, .special_tokens = {"?"}};
  CHECK(train_word_piece(words, options) ==
        std::vector<std::string>{"?", "a", "b", "##b", "##a", "ab", "##ab", "abab"});
}

TEST_CASE("words equally frequent come in the order of their bytes") {
  const WordCounts words = counts_of({{"b", 2}, {"a", 2}, {"c", 3}, {"rare", 1}});
  CHECK(train_word_level(words, {.vocab_size = 9, .min_frequency = 2, .special_tokens = {"?"}}) ==
        std::vector<std::string>{"?", "c", "a", "b"});
  CHECK(train_word_level(words, {.vocab_size = 2, .min_frequency = 1, .special_tokens = {"?"}}).size() == 2);
}

// The example of the package's own test of its trainer.
TEST_CASE("seeds are characters and substrings that go on in different ways") {
  const auto seeds = substring_seeds(counts_of({{"This is a", 1}, {"こんにちは友達", 1}}), 16, 1'000'000);
  std::vector<std::string> texts;
  for (const auto& [text, score] : seeds) texts.push_back(text);
  CHECK(texts == std::vector<std::string>{"s", "i", " ", "達", "友", "ん", "は", "に", "ち", "こ", "h", "a",
                                          "T", "is ", "s "});
  CHECK(seeds.front().second == Approx(-2.5649493574615367).epsilon(1e-14));
}

TEST_CASE("no substring reaches over the end of a word, and none is too long") {
  const std::string longest(16, 'x');
  const auto seeds =
      substring_seeds(counts_of({{longest + "xa", 1}, {longest + "xb", 1}, {"ya", 1}, {"yb", 1}}), 16, 100);
  for (const auto& [text, score] : seeds) CHECK(text.size() <= 16);
  CHECK(std::none_of(seeds.begin(), seeds.end(),
                     [](const auto& seed) { return seed.first.find('\0') != std::string::npos; }));
}

TEST_CASE("expected counts are the sums over all ways to spell a text") {
  // "aa" is a+a or aa: e^-2 and e^-1.
  const PieceSet pieces({{"?", 0}, {"a", -1}, {"aa", -1}});
  UnigramLattice lattice(pieces);
  lattice.fill("aa");
  std::vector<double> expected(3, 0);
  lattice.add_expected(3, expected);
  const double whole = std::exp(-1) / (std::exp(-1) + std::exp(-2));
  CHECK(expected[2] == Approx(3 * whole));
  CHECK(expected[1] == Approx(6 * (1 - whole)));
  CHECK(lattice.best() == std::vector<TokenId>{2});
  CHECK(lattice.two_best() == std::vector<std::vector<TokenId>>{{2}, {1, 1}});
  lattice.fill("é");
  CHECK(lattice.two_best() == std::vector<std::vector<TokenId>>{{0}});
}

TEST_CASE("a Unigram vocabulary has the asked size, every character and falling scores") {
  const Json ours = trained_on_golden_text({.kind = TokenizerKind::kUnigram, .vocab_size = 260});
  const Json& vocabulary = ours.at("model").at("vocab");
  REQUIRE(vocabulary.size() == 260);
  CHECK(ours.at("model").at("unk_id") == 2);
  std::map<std::string, double> scores;
  for (size_t i = 3; i < 260; ++i) {
    scores[vocabulary[i][0]] = vocabulary[i][1];
    if (i > 3) CHECK(vocabulary[i][1] <= vocabulary[i - 1][1]);
  }
  CHECK(scores.size() == 257);
  for (const char* character : {"▁", "e", "ü", "东", "京", "л"}) CHECK(scores.count(character) == 1);
}

TEST_CASE("every kind of tokenizer that is trained loads, knows its tokens and gives plain text back") {
  const std::pair<TokenizerKind, int64_t> kinds[] = {{TokenizerKind::kBpe, 300},
                                                     {TokenizerKind::kWordPiece, 60},
                                                     {TokenizerKind::kWordLevel, 60},
                                                     {TokenizerKind::kUnigram, 40}};
  for (const auto& [kind, size] : kinds) {
    const testing::TemporaryDirectory folder;
    write_file_atomically(folder / "text", "the low lower lowest tower the low tower\nthe lower tower\n");
    TokenizerTraining training{.kind = kind, .vocab_size = size};
    if (kind != TokenizerKind::kUnigram) training.min_frequency = 1;
    CHECK(train_tokenizer(training, {folder / "text"}, folder / "out") > 8);
    const auto tokenizer = Tokenizer::load(folder / "out");
    INFO(static_cast<int>(kind));
    const std::string text = "the low tower";
    CHECK(tokenizer->decode(tokenizer->encode(text, true).ids, true) == text);
    for (const std::string& token : usual_special_tokens(kind)) CHECK(tokenizer->token_to_id(token));
  }
}

TEST_CASE("an option that a kind does not have, and special tokens that lack one, are refused") {
  using Kind = TokenizerKind;
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refused_training({.kind = Kind::kUnigram, .min_frequency = 2}), "--min_frequency"));
  CHECK(says(refused_training({.kind = Kind::kBpe, .limit_alphabet = 9}), "--limit_alphabet"));
  CHECK(says(refused_training({.kind = Kind::kWordLevel, .lowercase = true}), "--lowercase"));
  CHECK(says(refused_training({.kind = Kind::kWordLevel, .special_tokens = {"<s>"}}), "<unk>"));
  CHECK(says(refused_training({.kind = Kind::kUnigram, .special_tokens = {"<unk>", ""}}), "empty"));
  CHECK(says(refused_training({.kind = Kind::kUnigram, .special_tokens = {"<unk>", "<unk>"}}), "twice"));
  CHECK(says(refused_training({.kind = Kind::kWordPiece, .vocab_size = 5}), "special tokens alone are 5"));
  CHECK(says(refused_training({.kind = Kind::kUnigram, .vocab_size = 5}), "alone are 6"));
  CHECK(says(refused_training({.kind = Kind::kBpe, .vocab_size = 100}), "256"));
  CHECK_REFUSED(tokenizer_kind("sentencepiece"), "unknown --kind 'sentencepiece'");
}

TEST_CASE("texts of rows are learnt as lines of a file are, and a table's bytes are not") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "text", "the river bends\nthe river sleeps\n");
  write_file_atomically(folder / "table.parquet", "PAR1 the river");
  const RowTexts rows = [](const std::string& path, const std::function<void(std::string_view)>& take) {
    if (!path.ends_with(".parquet")) return false;
    take("the river bends\n");
    take("the river sleeps\n");
    return true;
  };
  for (const TokenizerKind kind :
       {TokenizerKind::kBpe, TokenizerKind::kWordPiece, TokenizerKind::kWordLevel, TokenizerKind::kUnigram}) {
    const TokenizerTraining training{.kind = kind, .vocab_size = 300};
    train_tokenizer(training, {folder / "text"}, folder / "of-text");
    train_tokenizer(training, {folder / "table.parquet"}, folder / "of-rows", rows);
    CHECK(read_file(folder / "of-text/tokenizer.json") == read_file(folder / "of-rows/tokenizer.json"));
  }
  CHECK_THROWS_WITH(train_tokenizer({.vocab_size = 300}, {folder / "table.parquet"}, folder / "out"),
                    Catch::Contains("the bytes of a Parquet file"));
}

TEST_CASE("a pipe is text to train on as a file is") {
  const testing::TemporaryDirectory folder;
  const std::string text = "the river bends\nthe river sleeps\n";
  write_file_atomically(folder / "text", text);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kUnigram}) {
    std::thread writer([&] { std::ofstream(folder / "pipe") << text; });
    train_tokenizer({.kind = kind, .vocab_size = 300}, {folder / "pipe"}, folder / "of-pipe");
    writer.join();
    train_tokenizer({.kind = kind, .vocab_size = 300}, {folder / "text"}, folder / "of-text");
    CHECK(read_file(folder / "of-pipe/tokenizer.json") == read_file(folder / "of-text/tokenizer.json"));
  }
}

TEST_CASE("a compressed file is not taken for text to train on") {
  const testing::TemporaryDirectory folder;
  for (const std::string start : {"\x1F\x8B\b", "\x28\xB5\x2F\xFD"}) {
    write_file_atomically(folder / "packed", start + " some bytes");
    for (const TokenizerKind kind : {TokenizerKind::kBpe, TokenizerKind::kWordLevel}) {
      try {
        train_tokenizer({.kind = kind, .vocab_size = 300}, {folder / "packed"}, folder / "out");
        FAIL("trained on a compressed file");
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kData);
        CHECK(error.render().find("unpack it first") != std::string::npos);
      }
    }
  }
}

}  // namespace hftrain::tokenizer
