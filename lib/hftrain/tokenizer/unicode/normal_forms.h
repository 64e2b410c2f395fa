// NFD, NFKD, NFC, NFKC and lower case, character by character, with the bookkeeping that keeps offsets into
// the original.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hftrain::tokenizer::unicode {

// One character of a transformed text. `change` says what it stands for in the text before: 0 replaces one
// character, 1 is an addition, -n replaces one character and swallows the n after it.
struct Change {
  char32_t character;
  int change;
};

enum class NormalForm { kNfd, kNfkd, kNfc, kNfkc };

std::vector<Change> normalize(std::string_view text, NormalForm form);
std::vector<Change> lowercase(std::string_view text);
// The first character of the lower case of `c`; U+0130 alone has a second one, U+0307.
char32_t lowercase_of(char32_t c);
// What the normal forms order marks by; 0 for all that is no mark and for some that are.
uint8_t combining_class(char32_t c);
// Whether `form` makes the same of `c` wherever it stands between characters of which this is true as well.
bool keeps_apart(char32_t c, NormalForm form);
// Surely its own NFC; false when that takes a closer look.
bool is_plain_nfc(std::string_view text);

}  // namespace hftrain::tokenizer::unicode
