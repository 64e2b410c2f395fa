#include "hftrain/chat/numbers.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "hftrain/base/text.h"
#include "hftrain/chat/runtime.h"
#include "hftrain/chat/text_pieces.h"

namespace hftrain::chat {
namespace {

// Without blanks at its ends and underscores between digits; nothing where one stands elsewhere.
std::optional<std::string> plain_digits(std::string_view text) {
  text = stripped(text, std::nullopt, Side::kBoth);
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() &&
                         std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 &&
                         std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0;
    if (text[i] == '_' && !between) return std::nullopt;
    if (text[i] != '_') digits += text[i];
  }
  if (digits.empty()) return std::nullopt;
  return digits;
}

int base_of_prefix(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(digits[1])));
  return letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
}

}  // namespace

std::optional<int64_t> read_integer(Runtime& runtime, std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) runtime.fail("int() base must be >= 2 and <= 36, or 0");
  const auto plain = plain_digits(text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const int prefix = base_of_prefix(digits);
  if (prefix != 10 && (base == prefix || base == 0)) digits.remove_prefix(2);
  if (base == 0) base = prefix;
  if (base == 10 && prefix == 10 && digits.find_first_not_of("0123456789") != digits.npos)
    return std::nullopt;
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  const std::string signed_digits = (negative ? "-" : "") + std::string(digits);
  int64_t value = 0;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value, static_cast<int>(base));
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc()) runtime.outside("whole numbers of more than 64 bits");
  return value;
}

std::optional<int64_t> integer_literal(std::string_view digits) {
  const int base = base_of_prefix(digits);
  if (base != 10) digits.remove_prefix(2);
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<double> read_float(std::string_view text) {
  const auto plain = plain_digits(text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const std::string word = to_lower(digits);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  if (word == "inf" || word == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else {
    if (word.find_first_not_of("0123456789.e+-") != word.npos || word.starts_with('-') ||
        word.starts_with('+'))
      return std::nullopt;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
    if (error == std::errc::result_out_of_range) value = std::strtod(word.c_str(), nullptr);
  }
  return negative ? -value : value;
}

int64_t truncated(Runtime& runtime, double value) {
  if (std::isnan(value)) runtime.fail("cannot convert float NaN to integer");
  if (std::isinf(value)) runtime.fail("cannot convert float infinity to integer");
  if (std::abs(value) >= 0x1p63) runtime.outside("whole numbers of more than 64 bits");
  return static_cast<int64_t>(value);
}

}  // namespace hftrain::chat
