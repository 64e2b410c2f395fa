// Learns a byte-level BPE vocabulary from text, with the merges that the PyPI `tokenizers` package's
// BpeTrainer finds: words of the GPT-2 pattern are counted line by line, and the most frequent pair merges
// first, ties by the smaller ids.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/merge_learner.h"
#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

struct BpeTrainingOptions {
  int64_t vocab_size = 30000;                                   // special tokens and the 256 bytes included
  int64_t min_frequency = 2;                                    // of a pair, to be merged
  std::vector<std::string> special_tokens = {"<|endoftext|>"};  // they get the first ids
};

class BpeTrainer {
 public:
  // Throws Error (exit code 2) for a vocab_size that does not hold the special tokens and the bytes.
  explicit BpeTrainer(BpeTrainingOptions options);

  // Counts the words of a text. Every line, with its line end, is cut on its own. Invalid UTF-8 is read as
  // U+FFFD.
  void add_text(std::string_view text);
  // May be called once, after the last text. Tokens are spelled in the byte-level alphabet.
  LearnedMerges train();

  const BpeTrainingOptions& options() const { return options_; }

 private:
  void add_line(std::string_view line);

  BpeTrainingOptions options_;
  WordCounts words_;  // raw bytes
};

}  // namespace hftrain::tokenizer
