#include "hftrain/arguments/yaml_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

namespace hftrain::arguments {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool has_only(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

std::string without_underscores(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  return plain;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && '0' <= text.front() && text.front() <= '9';
}

// Digits in base 2, 8, 10 or 16. Nothing where there are none: 0x_ is a mistake in PyYAML.
std::optional<std::string> of_base(std::string_view digits, int base) {
  const std::string plain = without_underscores(digits);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number, base);
  if (error == std::errc()) return std::to_string(number);
  if (error != std::errc::result_out_of_range) return std::nullopt;
  double beyond = 0;
  for (const char digit : plain)
    beyond = beyond * base + static_cast<double>(kDigits.find(static_cast<char>(digit | 0x20)));
  return fmt::format("{}", beyond);
}

// In [0-5]?[0-9] after each colon; `whole`: before the first one.
std::optional<std::string> of_base_60(std::string_view whole, std::string_view rest,
                                      std::string_view fraction) {
  double number = 0;
  const std::string first = without_underscores(whole);
  std::from_chars(first.data(), first.data() + first.size(), number);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(1, rest.find(':', 1) - 1);
    const bool fits = (part.size() == 1 || (part.size() == 2 && part.front() < '6')) &&
                      has_only(part, kDigits.substr(0, 10));
    if (!fits) return std::nullopt;
    number = number * 60 + std::stoi(std::string(part));
    rest.remove_prefix(1 + part.size());
  }
  const std::string point = '0' + without_underscores(fraction);
  double behind = 0;
  std::from_chars(point.data(), point.data() + point.size(), behind);
  return fmt::format("{}", number + behind);
}

// Without its sign, and with no point.
std::optional<std::string> whole_number(std::string_view text) {
  if (text == "0") return "0";
  if (text.starts_with("0b") && has_only(text.substr(2), "01_")) return of_base(text.substr(2), 2);
  if (text.starts_with("0x") && has_only(text.substr(2), "0123456789abcdefABCDEF_"))
    return of_base(text.substr(2), 16);
  if (text.starts_with('0')) return has_only(text, "01234567_") ? of_base(text, 8) : std::nullopt;
  const size_t colon = std::min(text.find(':'), text.size());
  if (!begins_with_digit(text) || !has_only(text.substr(0, colon), "0123456789_")) return std::nullopt;
  if (colon < text.size()) return of_base_60(text.substr(0, colon), text.substr(colon), "");
  return without_underscores(text);
}

// [eE][-+][0-9]+, or nothing.
bool is_exponent(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() < 3 || (text[0] | 0x20) != 'e' || (text[1] != '-' && text[1] != '+')) return false;
  return has_only(text.substr(2), "0123456789");
}

// Without its sign, and with a point.
std::optional<std::string> broken_number(std::string_view text) {
  const size_t point = text.find('.');
  const std::string_view before = text.substr(0, point), behind = text.substr(point);
  const size_t exponent = std::min(behind.find_first_of("eE"), behind.size());
  if (!has_only(behind.substr(1, exponent - 1), "0123456789_")) return std::nullopt;
  const size_t colon = std::min(before.find(':'), before.size());
  if (!before.empty() && !begins_with_digit(before)) return std::nullopt;
  if (!has_only(before.substr(0, colon), "0123456789_")) return std::nullopt;
  if (before.empty() && !begins_with_digit(behind.substr(1))) return std::nullopt;
  if (colon < before.size()) {
    if (exponent < behind.size()) return std::nullopt;
    return of_base_60(before.substr(0, colon), before.substr(colon), behind);
  }
  return is_exponent(behind.substr(exponent)) ? std::optional(without_underscores(text)) : std::nullopt;
}

}  // namespace

std::string decimal_of_yaml(std::string_view scalar) {
  const bool signed_one = scalar.starts_with('-') || scalar.starts_with('+');
  const std::string_view text = scalar.substr(signed_one ? 1 : 0);
  const bool broken = text.find('.') != std::string_view::npos;
  if (signed_one && text.starts_with('.')) return std::string(scalar);
  const std::optional<std::string> number = broken ? broken_number(text) : whole_number(text);
  if (!number) return std::string(scalar);
  return (scalar.starts_with('-') ? "-" : "") + *number;
}

}  // namespace hftrain::arguments
