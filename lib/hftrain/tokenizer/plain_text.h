// A normalised stretch of text and where its bytes come from, for text of which every character keeps to itself
// (character_memo.h): what AlignedText says of any text, in memory that is used again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hftrain::tokenizer {

struct PlainText {
  struct Range {
    uint32_t begin, end;
  };

  std::string text;
  std::vector<Range> origins;  // of each byte of `text`: the bytes of the stretch that its character is from
  std::vector<Range> pieces;   // bytes of `text`, once it is cut

  void clear() {
    text.clear();
    origins.clear();
    pieces.clear();
  }
  void append(std::string_view bytes, Range origin) {
    text.append(bytes);
    origins.insert(origins.end(), bytes.size(), origin);
  }
  std::string_view piece(const Range& range) const {
    return std::string_view(text).substr(range.begin, range.end - range.begin);
  }
};

}  // namespace hftrain::tokenizer
