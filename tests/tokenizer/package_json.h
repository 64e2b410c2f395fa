// JSON spelled as Python's json.dumps(value, separators=(",", ":")) spells it, so that hundreds of thousands of
// the package's answers can be compared as lines, and only those that differ need be read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {

inline void write_value(std::string& line, int64_t number) {
  line += std::to_string(number);
}

inline void write_unit(std::string& line, uint32_t unit) {
  static constexpr char kDigits[] = "0123456789abcdef";
  line += "\\u";
  for (const int shift : {12, 8, 4, 0}) line += kDigits[unit >> shift & 15];
}

inline void write_character(std::string& line, char32_t c) {
  if (c >= 0x10000) {
    write_unit(line, static_cast<uint32_t>(0xD800 + ((c - 0x10000) >> 10)));
    return write_unit(line, static_cast<uint32_t>(0xDC00 + ((c - 0x10000) & 0x3FF)));
  }
  constexpr std::string_view kNamed = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
  const size_t named = c < 0x80 ? kNamed.find(static_cast<char>(c)) : std::string_view::npos;
  if (named != std::string_view::npos) {
    line += '\\';
    line += kNames[named];
  } else if (c >= ' ' && c <= '~') {
    line += static_cast<char>(c);
  } else {
    write_unit(line, static_cast<uint32_t>(c));
  }
}

inline void write_value(std::string& line, const std::string& text) {
  line += '"';
  for (const char* p = text.data(); p < text.data() + text.size(); p += unicode::size_of(*p))
    write_character(line, unicode::decode(p));
  line += '"';
}

inline void write_value(std::string& line, const std::pair<int64_t, int64_t>& offset) {
  line += '[' + std::to_string(offset.first) + ',' + std::to_string(offset.second) + ']';
}

template <typename T>
void write_value(std::string& line, const std::vector<T>& values) {
  line += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line += ',';
    write_value(line, values[i]);
  }
  line += ']';
}

template <typename T>
void write_member(std::string& line, const char* key, const T& value) {
  line += line.empty() ? "{\"" : ",\"";
  line += key;
  line += "\":";
  write_value(line, value);
}

}  // namespace hftrain::tokenizer
