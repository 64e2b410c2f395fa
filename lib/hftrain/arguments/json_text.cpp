#include "hftrain/arguments/json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

namespace hftrain::arguments {
namespace {

constexpr size_t kEscape = 6;   // bytes of \uXXXX
constexpr size_t kShorter = 2;  // \UXXXXXXXX than two of them

// What an escape of JSON stands for; nothing where none begins.
std::optional<uint32_t> escaped_unit(std::string_view text, size_t at) {
  if (at + kEscape > text.size() || text.substr(at, 2) != "\\u") return std::nullopt;
  uint32_t unit = 0;
  const char *begin = text.data() + at + 2, *end = text.data() + at + kEscape;
  const auto [stop, error] = std::from_chars(begin, end, unit, 16);
  return error == std::errc() && stop == end ? std::optional<uint32_t>(unit) : std::nullopt;
}

bool is_high_half(uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low_half(uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

}  // namespace

std::string without_comments(std::string text) {
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = false;
      continue;
    }
    if (text[i] == '"') quoted = true;
    if (text[i] != '/' || i + 1 >= text.size()) continue;
    const bool line = text[i + 1] == '/';
    if (!line && text[i + 1] != '*') continue;
    const size_t end = line ? text.find('\n', i) : text.find("*/", i + 2);
    const size_t stop = end == std::string::npos ? text.size() : end + (line ? 0 : 2);
    for (; i < stop; ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
    --i;
  }
  return text;
}

std::string with_whole_characters(const std::string& text, std::optional<size_t>& half) {
  std::string whole;
  bool quoted = false;
  size_t missing = 0;  // of the string that is open
  for (size_t i = 0; i < text.size(); ++i) {
    const std::optional<uint32_t> high = quoted ? escaped_unit(text, i) : std::nullopt;
    if (high && (is_high_half(*high) || is_low_half(*high))) {
      const std::optional<uint32_t> low = escaped_unit(text, i + kEscape);
      if (is_high_half(*high) && low && is_low_half(*low)) {
        whole += fmt::format("\\U{:08X}", 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00));
        missing += kShorter;
        i += 2 * kEscape - 1;
        continue;
      }
      if (!half) half = i;
    }
    whole += text[i];
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      whole += text[++i];
    } else if (text[i] == '"') {
      quoted = !quoted;
      whole.append(std::exchange(missing, 0), ' ');
    }
  }
  return whole;
}

}  // namespace hftrain::arguments
