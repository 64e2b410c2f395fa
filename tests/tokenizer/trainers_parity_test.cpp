// What the trainers make, against the PyPI packages themselves.
#include <set>

#include "hftrain/base/file.h"
#include "hftrain/base/json.h"
#include "hftrain/tokenizer/tokenizer.h"
#include "hftrain/tokenizer/tokenizer_training.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/python.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::tokenizer {
namespace {

// Trains the package's Unigram trainer: FILE SIZE OUTPUT.
constexpr const char* kTrainUnigram = R"(
import sys
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
t = Tokenizer(models.Unigram())
t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("\u2581")])
t.train([sys.argv[1]], trainers.UnigramTrainer(vocab_size=int(sys.argv[2]), special_tokens=["<pad>", "</s>", "<unk>"],
                                               unk_token="<unk>", show_progress=False))
t.save(sys.argv[3])
)";

// What AutoTokenizer says of folders, into FOLDER.json: TEXT FOLDER…. One process for all: transformers takes long to load.
constexpr const char* kOpen = R"(
import json, sys
from transformers import AutoTokenizer
text = sys.argv[1]
for folder in sys.argv[2:]:
    t = AutoTokenizer.from_pretrained(folder)
    ids = t(text)["input_ids"]
    with open(folder + ".json", "w") as out:
        json.dump({"ids": ids, "text": t.decode(ids, skip_special_tokens=True), "size": len(t), "special": t.special_tokens_map,
                   "pair": t(text, text)["input_ids"]}, out)
)";

std::set<std::string> tokens_in(const std::string& file) {
  std::set<std::string> tokens;
  const Json root = read_json_file(file);
  for (const Json& entry : root.at("model").at("vocab")) tokens.insert(entry.at(0).get<std::string>());
  return tokens;
}

}  // namespace

TEST_CASE("training finds the tokens of the package's Unigram trainer", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with the tokenizers package: set HFTRAIN_TEST_PYTHON");
  const testing::TemporaryDirectory folder;
  // The documentation is text of some size that is always there.
  const std::string text = folder / "text";
  std::string words;
  for (const char* page : {"architecture", "tokenizer", "training", "launcher", "models", "plan", "data"})
    words += read_file(testing::source_dir() + "/docs/" + page + ".md");
  write_file_atomically(
      text, words + read_file(testing::source_dir() + "/tests/golden/tokenizer/training/text.txt"));
  for (const int64_t size : {700, 2000}) {
    const auto package =
        testing::run_python(kTrainUnigram, {text, std::to_string(size), folder / "theirs.json"});
    INFO(package.output);
    REQUIRE(package.exit_code == 0);
    CHECK(train_tokenizer({.kind = TokenizerKind::kUnigram, .vocab_size = size}, {text}, folder / "ours") ==
          size);
    const auto ours = tokens_in(folder / "ours/tokenizer.json"), theirs = tokens_in(folder / "theirs.json");
    std::vector<std::string> common;
    std::set_intersection(ours.begin(), ours.end(), theirs.begin(), theirs.end(), std::back_inserter(common));
    // The package's own runs differ where two tokens are worth the same.
    CHECK(common.size() + 2 >= static_cast<size_t>(size));
  }
}

TEST_CASE("AutoTokenizer opens what was trained, with its special tokens and our ids", "[parity]") {
  if (!testing::has_python()) HFTRAIN_SKIP("python3 with transformers: set HFTRAIN_TEST_PYTHON");
  const std::string text = "The quick brown fox, in 2024";
  struct Expected {
    TokenizerKind kind;
    std::map<std::string, std::string> special;
    std::string decoded;
  };
  const Expected all[] = {
      {TokenizerKind::kBpe, {{"eos_token", "<|endoftext|>"}}, text},
      {TokenizerKind::kWordPiece,
       {{"pad_token", "[PAD]"},
        {"unk_token", "[UNK]"},
        {"cls_token", "[CLS]"},
        {"sep_token", "[SEP]"},
        {"mask_token", "[MASK]"}},
       "the quick brown fox, in 2024"},
      {TokenizerKind::kWordLevel,
       {{"unk_token", "<unk>"}, {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}},
       ""},
      {TokenizerKind::kUnigram,
       {{"unk_token", "<unk>"}, {"eos_token", "</s>"}, {"pad_token", "<pad>"}},
       text},
  };
  const testing::TemporaryDirectory root;
  const auto folder_of = [&](const Expected& expected) {
    return root / std::to_string(static_cast<int>(expected.kind));
  };
  std::vector<std::string> words{text};
  for (const Expected& expected : all) {
    words.push_back(folder_of(expected));
    train_tokenizer({.kind = expected.kind, .vocab_size = 600},
                    {testing::source_dir() + "/tests/golden/tokenizer/training/text.txt"}, words.back());
  }
  const auto opened = testing::run_python(kOpen, words);
  INFO(opened.output);
  REQUIRE(opened.exit_code == 0);
  for (const Expected& expected : all) {
    const std::string folder = folder_of(expected);
    INFO(folder);
    const Json said = read_json_file(folder + ".json");
    const auto tokenizer = Tokenizer::load(folder);
    std::vector<TokenId> ids;
    tokenizer->encode_into(text, true, ids);
    CHECK(said.at("ids") == Json(ids));
    CHECK(said.at("size") == tokenizer->vocab_size());
    if (!expected.decoded.empty()) CHECK(said.at("text") == expected.decoded);
    for (const auto& [name, token] : expected.special) CHECK(said.at("special").at(name) == token);
    CHECK(said.at("pair").size() >= 2 * ids.size() - 2);
  }
}

}  // namespace hftrain::tokenizer
