#include "hftrain/tokenizer/unicode/utf8.h"

#include <simdjson.h>

#include <cstring>

namespace hftrain::tokenizer::unicode {
namespace {

struct Lead {
  size_t size;        // 0: no character starts with this byte
  uint8_t low, high;  // what the second byte may be
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2 || byte > 0xF4) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) return {3, uint8_t(byte == 0xE0 ? 0xA0 : 0x80), uint8_t(byte == 0xED ? 0x9F : 0xBF)};
  return {4, uint8_t(byte == 0xF0 ? 0x90 : 0x80), uint8_t(byte == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

void append(char32_t c, std::string& text) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    text += tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    text += tail(6);
    text += tail(0);
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    text += tail(12);
    text += tail(6);
    text += tail(0);
  }
}

size_t count(std::string_view text) {
  size_t characters = 0;
  for (const char c : text) characters += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  return characters;
}

bool is_valid(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

bool is_ascii(std::string_view text) {
  uint64_t high = 0;
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    high |= word;
  }
  for (; i < text.size(); ++i) high |= static_cast<uint8_t>(text[i]);
  return (high & 0x8080808080808080) == 0;
}

std::string replace_invalid(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  size_t i = 0;
  while (i < text.size()) {
    const Lead lead = lead_of(static_cast<uint8_t>(text[i]));
    size_t good = 1;
    while (good < lead.size && i + good < text.size()) {
      const auto byte = static_cast<uint8_t>(text[i + good]);
      if (good == 1 ? (byte < lead.low || byte > lead.high) : (byte & 0xC0) != 0x80) break;
      ++good;
    }
    if (good == lead.size) {
      valid.append(text.substr(i, good));
    } else {
      valid += "\xEF\xBF\xBD";
    }
    i += good;
  }
  return valid;
}

}  // namespace hftrain::tokenizer::unicode
