// From text files to the folder of a new tokenizer, for every kind of model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::tokenizer {

enum class TokenizerKind { kBpe, kWordPiece, kWordLevel, kUnigram };

// Error (exit code 2) for a word that is none of bpe, wordpiece, wordlevel and unigram.
TokenizerKind tokenizer_kind(const std::string& word);
// Of each kind when none are named: its manner's (GPT-2, BERT, T5).
std::vector<std::string> usual_special_tokens(TokenizerKind kind);

// Unset values are those of the kind.
struct TokenizerTraining {
  TokenizerKind kind = TokenizerKind::kBpe;
  int64_t vocab_size = 30000;
  std::optional<int64_t> min_frequency;   // all kinds but unigram
  std::optional<int64_t> limit_alphabet;  // wordpiece
  std::optional<bool> lowercase;          // wordpiece
  std::vector<std::string> special_tokens;
};

// Calls `take` with every text of a file whose texts lie in rows; false: it is a file of text.
using RowTexts =
    std::function<bool(const std::string& path, const std::function<void(std::string_view text)>& take)>;

// Trains on the lines of `files`, and of the texts of those that `read_rows` takes, and writes tokenizer.json and tokenizer_config.json into `folder`. Returns how
// many tokens there are: fewer than asked for when the text has no more, and with wordpiece more where its
// characters alone are. Throws Error (exit code 2) for an option that the kind does not have, for special
// tokens that are empty, twice there or lack one that is needed, and for a vocab_size that is too small.
int64_t train_tokenizer(const TokenizerTraining& training, const std::vector<std::string>& files,
                        const std::string& folder, const RowTexts& read_rows = {});

}  // namespace hftrain::tokenizer
