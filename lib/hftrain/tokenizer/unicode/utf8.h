// UTF-8 as the tokenizer reads it: text is made valid once, then walked without checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hftrain::tokenizer::unicode {

// Bytes of the character that starts with `lead`. Valid text only.
inline size_t size_of(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}
inline size_t size_of(char32_t c) {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

// The character at `p`. Valid text only.
inline char32_t decode(const char* p) {
  const auto at = [p](int i) { return static_cast<char32_t>(static_cast<uint8_t>(p[i])); };
  if (at(0) < 0x80) return at(0);
  if (at(0) < 0xE0) return (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
  if (at(0) < 0xF0) return (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
  return (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
}

// The start of the character that ends before `p`. Valid text only.
inline const char* previous(const char* p) {
  do --p;
  while ((static_cast<uint8_t>(*p) & 0xC0) == 0x80);
  return p;
}

void append(char32_t c, std::string& text);
size_t count(std::string_view text);  // characters of valid text
bool is_valid(std::string_view text);
bool is_ascii(std::string_view text);
// Every maximal invalid part becomes one U+FFFD, as Python's errors="replace" and Rust's lossy conversion do.
std::string replace_invalid(std::string_view text);

}  // namespace hftrain::tokenizer::unicode
