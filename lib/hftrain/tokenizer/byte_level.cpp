#include "hftrain/tokenizer/byte_level.h"

#include <array>

namespace hftrain::tokenizer {
namespace {

struct Alphabet {
  char32_t code_points[256] = {};
  char text[256][2] = {};  // all are one or two bytes of UTF-8
  uint8_t sizes[256] = {};
  int16_t bytes[0x144] = {};  // code point to byte, -1 for none
};

constexpr bool stays(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.bytes) byte = -1;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t c = stays(byte) ? static_cast<char32_t>(byte) : next++;
    alphabet.code_points[byte] = c;
    alphabet.bytes[c] = static_cast<int16_t>(byte);
    if (c < 0x80) {
      alphabet.text[byte][0] = static_cast<char>(c);
      alphabet.sizes[byte] = 1;
    } else {
      alphabet.text[byte][0] = static_cast<char>(0xC0 | c >> 6);
      alphabet.text[byte][1] = static_cast<char>(0x80 | (c & 0x3F));
      alphabet.sizes[byte] = 2;
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t byte_level_code_point(uint8_t byte) {
  return kAlphabet.code_points[byte];
}

std::string_view byte_level_character(uint8_t byte) {
  return {kAlphabet.text[byte], kAlphabet.sizes[byte]};
}

std::optional<uint8_t> byte_of_character(char32_t c) {
  if (c >= std::size(kAlphabet.bytes) || kAlphabet.bytes[c] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.bytes[c]);
}

std::string to_byte_level(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) text += byte_level_character(static_cast<uint8_t>(byte));
  return text;
}

std::vector<unicode::Change> byte_level_changes(std::string_view text) {
  std::vector<unicode::Change> changes;
  changes.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    changes.push_back({byte_level_code_point(byte), (byte & 0xC0) == 0x80 ? 1 : 0});
  }
  return changes;
}

}  // namespace hftrain::tokenizer
