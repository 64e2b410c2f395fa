#include "hftrain/tokenizer/space_cuts.h"

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Ideographic punctuation and kana: not the marks between them, which combine.
bool is_kana_alone(char32_t c) {
  return (c >= 0x3001 && c <= 0x3029) || (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA);
}

// Whether nothing joins the character at `at` to a space, or to another such one, next to it: printable
// ASCII, letters of Latin, Greek and Cyrillic, kana, Han, Hangul. Others may combine.
bool stands_alone(std::string_view text, size_t at) {
  const auto byte = static_cast<uint8_t>(text[at]);
  if (byte == 0xE3) return is_kana_alone(unicode::decode(text.data() + at));
  return (byte > ' ' && byte < 0x7F) || (byte >= 0xC3 && byte <= 0xC9) || (byte >= 0xCE && byte <= 0xD1) ||
         (byte >= 0xE4 && byte <= 0xE9) || byte == 0xEB || byte == 0xEC;
}

// The unified ideographs that fill E4 B8 80 to E9 BF BF.
bool is_han(std::string_view text, size_t at) {
  const auto byte = static_cast<uint8_t>(text[at]);
  return byte >= 0xE4 && byte <= 0xE9 && (byte > 0xE4 || static_cast<uint8_t>(text[at + 1]) >= 0xB8);
}

}  // namespace

size_t next_cut(std::string_view text, size_t from, bool around_han) {
  size_t before = from;
  for (size_t i = from + unicode::size_of(text[from]); i < text.size(); i += unicode::size_of(text[i])) {
    if (text[i] == ' ') {
      const bool follows = i + 1 < text.size() && stands_alone(text, i + 1);
      if (follows && (text[before] == ' ' || stands_alone(text, before))) return i;
    } else if (around_han && (is_han(text, before) || is_han(text, i)) && stands_alone(text, before) &&
               stands_alone(text, i)) {
      return i;
    }
    before = i;
  }
  return text.size();
}

}  // namespace hftrain::tokenizer
