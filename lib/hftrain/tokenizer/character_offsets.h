// Byte offsets of a text as offsets in characters. Views the text; one thread at a time.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

class CharacterOffsets {
 public:
  explicit CharacterOffsets(std::string_view text) : size_(text.size()) {
    if (unicode::is_ascii(text)) return;
    index_.resize(text.size());
    uint32_t characters = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      characters += (static_cast<uint8_t>(text[i]) & 0xC0) != 0x80 ? 1 : 0;
      index_[i] = characters - 1;
    }
  }

  std::pair<int64_t, int64_t> operator()(std::pair<size_t, size_t> bytes) const {
    if (bytes.first >= size_) return bytes;  // nothing to count from
    const int64_t begin = at(bytes.first);
    if (bytes.second < size_) return {begin, at(bytes.second)};
    return {begin, (bytes.second - 1 < size_ ? at(bytes.second - 1) : begin + 1) + 1};
  }

 private:
  int64_t at(size_t byte) const { return index_.empty() ? static_cast<int64_t>(byte) : index_[byte]; }

  size_t size_;
  std::vector<uint32_t> index_;  // of each byte; empty for ASCII
};

}  // namespace hftrain::tokenizer
