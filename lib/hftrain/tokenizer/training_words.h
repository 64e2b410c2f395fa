// The words that a tokenizer is trained on: what its own normalizer and pre-tokenizer make of each line.
#pragma once

#include <memory>
#include <string>

#include "hftrain/base/json.h"
#include "hftrain/tokenizer/word_counts.h"

namespace hftrain::tokenizer {

class Normalizer;
class PreTokenizer;

class TrainingWords {
 public:
  // The parts as a tokenizer.json has them; null ones are absent.
  TrainingWords(const Json& normalizer, const Json& pre_tokenizer);

  // Each line, with its line end, is a text of its own. Invalid UTF-8 is read as U+FFFD.
  void add_text(std::string_view text);
  // Of all texts so far. Every different stretch between spaces is normalised once.
  WordCounts count() const;

 private:
  void add_line(std::string_view line);

  std::shared_ptr<const Normalizer> normalizer_;
  std::shared_ptr<const PreTokenizer> pre_tokenizer_;
  bool cuts_at_spaces_;
  WordCounts stretches_;  // of lines as they came
};

}  // namespace hftrain::tokenizer
