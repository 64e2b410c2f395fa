#include "hftrain/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/splitters.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// The bytes in the order of their characters, behind the special tokens.
std::vector<std::string> first_tokens(const std::vector<std::string>& special_tokens) {
  std::vector<std::pair<char32_t, std::string>> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<uint8_t>(byte);
    alphabet.emplace_back(byte_level_code_point(value), byte_level_character(value));
  }
  std::sort(alphabet.begin(), alphabet.end());
  std::vector<std::string> tokens;
  Vocabulary known;
  const auto add = [&](const std::string& token) {
    if (known.id_of(token) != kNoToken) return;
    known.add(token, static_cast<TokenId>(tokens.size()));
    tokens.push_back(token);
  };
  for (const std::string& token : special_tokens) add(token);
  for (const auto& [code_point, character] : alphabet) add(character);
  return tokens;
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainingOptions options) : options_(std::move(options)) {
  const auto least = static_cast<int64_t>(options_.special_tokens.size()) + 256;
  if (options_.vocab_size < least) {
    throw Error(ExitCode::kUsage, "--vocab_size " + std::to_string(options_.vocab_size) + " is too small")
        .where("--vocab_size")
        .why("the special tokens and the 256 bytes alone are " + std::to_string(least))
        .hint("ask for more tokens than that");
  }
  for (const std::string& token : options_.special_tokens) {
    if (token.empty())
      throw Error(ExitCode::kUsage, "a special token cannot be empty")
          .where("--special_tokens")
          .why("no text holds it")
          .hint("leave the empty one out");
  }
}

void BpeTrainer::add_text(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    const std::string_view line = text.substr(i, end - i);
    if (unicode::is_valid(line)) {
      add_line(line);
    } else {
      add_line(unicode::replace_invalid(line));
    }
    i = end;
  }
}

void BpeTrainer::add_line(std::string_view line) {
  split(KnownPattern::kGpt2, line, [this](const char* begin, const char* end) {
    words_.add({begin, static_cast<size_t>(end - begin)});
  });
}

LearnedMerges BpeTrainer::train() {
  std::vector<std::string> tokens = first_tokens(options_.special_tokens);
  TokenId byte_ids[256];
  for (int byte = 0; byte < 256; ++byte) {
    const auto character = byte_level_character(static_cast<uint8_t>(byte));
    byte_ids[byte] =
        static_cast<TokenId>(std::find(tokens.begin(), tokens.end(), character) - tokens.begin());
  }
  MergeLearner learner(std::move(tokens));
  for (size_t i = 0; i < words_.size(); ++i) {
    std::vector<TokenId> symbols;
    for (const char byte : words_.word(i)) symbols.push_back(byte_ids[static_cast<uint8_t>(byte)]);
    learner.add_word(std::move(symbols), words_.count(i));
  }
  return learner.run(static_cast<size_t>(options_.vocab_size), options_.min_frequency);
}

}  // namespace hftrain::tokenizer
