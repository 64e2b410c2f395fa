// Words and how often they occurred, in the order of their first occurrence.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

class WordCounts {
 public:
  void add(std::string_view word, int64_t count = 1) {
    TokenId index = words_.id_of(word);
    if (index == kNoToken) {
      index = static_cast<TokenId>(counts_.size());
      words_.add(word, index);
      counts_.push_back(0);
    }
    counts_[static_cast<size_t>(index)] += count;
  }

  size_t size() const { return counts_.size(); }
  std::string_view word(size_t index) const { return words_.token_at(index); }
  int64_t count(size_t index) const { return counts_[index]; }

 private:
  Vocabulary words_;  // the id is the index
  std::vector<int64_t> counts_;
};

}  // namespace hftrain::tokenizer
