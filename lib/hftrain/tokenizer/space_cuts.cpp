#include "hftrain/tokenizer/space_cuts.h"

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

// Whether a character that begins with this byte is one that nothing joins to a space next to it: printable
// ASCII, letters of Latin, Greek and Cyrillic, Han, Hangul. Others may combine.
bool stands_alone(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return (byte > ' ' && byte < 0x7F) || (byte >= 0xC3 && byte <= 0xC9) || (byte >= 0xCE && byte <= 0xD1) ||
         (byte >= 0xE4 && byte <= 0xE9) || byte == 0xEB || byte == 0xEC;
}

}  // namespace

size_t next_cut(std::string_view text, size_t from) {
  for (size_t i = from + 1; i + 1 < text.size(); ++i) {
    if (text[i] != ' ' || !stands_alone(text[i + 1])) continue;
    if (text[i - 1] == ' ' || stands_alone(*unicode::previous(text.data() + i))) return i;
  }
  return text.size();
}

}  // namespace hftrain::tokenizer
