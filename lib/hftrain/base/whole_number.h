// Numbers in lists, host files and files of the system.
#pragma once

#include <charconv>
#include <optional>
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

}  // namespace hftrain
