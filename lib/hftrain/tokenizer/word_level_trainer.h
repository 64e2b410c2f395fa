// Makes a vocabulary of the most frequent words, as the PyPI `tokenizers` package's WordLevelTrainer does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

struct WordLevelTrainingOptions {
  int64_t vocab_size = 30000;  // special tokens included
  int64_t min_frequency = 2;   // of a word
  std::vector<std::string> special_tokens;
};

// The tokens by id: special ones, then words by falling frequency, those equally frequent by their bytes.
std::vector<std::string> train_word_level(const WordCounts& words, const WordLevelTrainingOptions& options);

}  // namespace hftrain::tokenizer
