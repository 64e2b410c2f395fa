// Numbers in lists, host files and files of the system.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hftrain {

// The number that the whole text is, which may begin with a minus; nothing for another text or one beyond the type.
template <typename Number = int>
std::optional<Number> signed_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = !text.empty() && error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

// The same from 0.
template <typename Integer = int>
std::optional<Integer> whole_number(std::string_view text) {
  const std::optional<Integer> value = signed_number<Integer>(text);
  return value && *value >= 0 ? value : std::nullopt;
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
