// Learns a Unigram vocabulary from words, as the PyPI `tokenizers` package's UnigramTrainer does: from frequent
// substrings, by turns fitting their probabilities (EM) and dropping those that are missed least.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/tokenizer/substring_seeds.h"
#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

struct UnigramTrainingOptions {
  int64_t vocab_size = 8000;  // special tokens included
  std::vector<std::string> special_tokens;
};

// Tokens and scores by id: special tokens with 0, then by falling score. Every character of the words is among
// them; of equal scores characters come first, by code point. The package adds up in an order that changes
// from run to run, so that its last digits, and tokens at the edge, do too.
// Throws Error (exit code 2) for a vocab_size that does not hold the special tokens and the characters.
std::vector<ScoredPiece> train_unigram(const WordCounts& words, const UnigramTrainingOptions& options);

}  // namespace hftrain::tokenizer
