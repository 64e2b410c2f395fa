// What the PyPI `tokenizers` package knows about every code point, as tables made by
// scripts/generate_unicode_tables.py. Categories, white space and words are those of Unicode 16; other facts
// keep the version that the package uses for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace hftrain::tokenizer::unicode {

enum class Category : uint8_t {
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Co,
  Cn,
  Cs
};

// Sets of categories, one bit each.
using CategorySet = uint32_t;
constexpr CategorySet bit(Category category) {
  return CategorySet{1} << static_cast<int>(category);
}
constexpr CategorySet kLetters = 0x0000001F;
constexpr CategorySet kMarks = 0x000000E0;
constexpr CategorySet kNumbers = 0x00000700;
constexpr CategorySet kPunctuation = 0x0003F800;
constexpr CategorySet kSymbols = 0x003C0000;
constexpr CategorySet kSeparators = 0x01C00000;
constexpr CategorySet kOthers = 0x3E000000;

// The generated tables: record = category | flags << 5.
extern const uint16_t kRecords[];
extern const uint16_t kBlockIndex[];
extern const uint8_t kBlocks[];

inline uint16_t record(char32_t c) {
  return kRecords[kBlocks[kBlockIndex[c >> 7] * 128 + (c & 127)]];
}
inline Category category(char32_t c) {
  return static_cast<Category>(record(c) & 31);
}
inline bool in(char32_t c, CategorySet set) {
  return (set >> (record(c) & 31) & 1) != 0;
}

inline bool is_white_space(char32_t c) {
  return (record(c) >> 5 & 1) != 0;
}  // \s, str::is_whitespace
inline bool is_regex_word(char32_t c) {
  return (record(c) >> 6 & 1) != 0;
}  // \w in Split and Replace
inline bool is_word(char32_t c) {
  return (record(c) >> 7 & 1) != 0;
}  // \w in Whitespace and single_word
inline bool is_punctuation(char32_t c) {
  return (record(c) >> 8 & 1) != 0;
}  // Punctuation
inline bool is_numeric(char32_t c) {
  return (record(c) >> 9 & 1) != 0;
}  // Digits
inline bool is_combining_mark(char32_t c) {
  return (record(c) >> 10 & 1) != 0;
}  // StripAccents
// Text made only of these is its own NFC: no combining class, no part in any composition as the second
// character.
inline bool is_nfc_inert(char32_t c) {
  return (record(c) >> 11 & 1) != 0;
}

inline bool is_bert_control(char32_t c) {
  return (record(c) >> 12 & 1) != 0;
}  // what BertNormalizer cleans away
inline bool is_bert_mark(char32_t c) {
  return (record(c) >> 13 & 1) != 0;
}  // what it takes for an accent

struct Range {
  char32_t first;
  char32_t last;
};
struct Script {
  std::string_view name;
  const Range* ranges;
  size_t count;
};
extern const Script kScripts[];
extern const size_t kScriptCount;

}  // namespace hftrain::tokenizer::unicode
