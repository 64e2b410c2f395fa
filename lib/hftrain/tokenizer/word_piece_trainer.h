// Learns a WordPiece vocabulary from words, as the PyPI `tokenizers` package's WordPieceTrainer does: by merges
// of frequent pairs, where characters inside of a word carry the continuing prefix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

struct WordPieceTrainingOptions {
  int64_t vocab_size = 30000;  // characters may be more
  int64_t min_frequency = 2;   // of a pair, to be merged
  int64_t limit_alphabet = 0;  // as many of the most frequent characters are kept; 0: all
  std::vector<std::string> special_tokens;
  std::string continuing_prefix = "##";
};

// The tokens by id: special tokens, characters by code point, characters inside of words in the order of their
// first occurrence (the package: in an order that changes from run to run), what was learned. Of characters
// equally frequent the limit keeps those of the smaller code points.
std::vector<std::string> train_word_piece(const WordCounts& words, const WordPieceTrainingOptions& options);

}  // namespace hftrain::tokenizer
