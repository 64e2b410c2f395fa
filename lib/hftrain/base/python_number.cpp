#include "hftrain/base/python_number.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hftrain {
namespace {

// `digits` with the decimal point after the first `point` of them, padded with zeros where needed.
std::string plain_decimal(const std::string& digits, int point) {
  if (point <= 0) return "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  const auto whole = static_cast<size_t>(point);
  if (digits.size() <= whole) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + '.' + digits.substr(whole);
}

std::string scientific(const std::string& digits, int exponent) {
  std::string text = digits.substr(0, 1);
  if (digits.size() > 1) text += '.' + digits.substr(1);
  char tail[16];
  std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return text + tail;
}

}  // namespace

std::string python_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::abs(value), std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const size_t mark = text.find('e');
  const int exponent = std::atoi(text.c_str() + mark + 1);
  std::string digits = text.substr(0, 1);
  if (mark > 1) digits += text.substr(2, mark - 2);
  const std::string sign = std::signbit(value) ? "-" : "";
  if (exponent < -4 || exponent >= 16) return sign + scientific(digits, exponent);
  return sign + plain_decimal(digits, exponent + 1);
}

double python_round(double value, int decimals) {
  if (!std::isfinite(value)) return value;
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return std::strtod(buffer, nullptr);
}

}  // namespace hftrain
