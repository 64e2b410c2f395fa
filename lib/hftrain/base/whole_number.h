// Numbers in lists, host files and files of the system.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hftrain {

// The number that the whole text is, 0 or more; nothing for another text or one beyond the type.
template <typename Integer = int>
std::optional<Integer> whole_number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0;
  return whole ? std::optional(value) : std::nullopt;
}

// The number at the start of the text, behind white space and a sign, as strtoll reads it: "3,2" is 3. Nothing where
// none stands, or one beyond the type.
inline std::optional<int64_t> leading_integer(const std::string& text) {
  try {
    return std::stoll(text);
  } catch (const std::exception&) {
    return std::nullopt;  // empty, or a word such as "max"
  }
}

}  // namespace hftrain
