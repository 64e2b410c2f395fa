#include "hftrain/base/quantity.h"

#include <charconv>
#include <cmath>

#include "hftrain/base/text.h"

namespace hftrain {
namespace {

constexpr double kMost = 4611686018427387904.0;  // 2^62

std::optional<int64_t> whole(double number, double factor) {
  const double amount = number * factor;
  if (factor == 0 || !(amount >= 0) || amount > kMost) return std::nullopt;
  return static_cast<int64_t>(std::llround(amount));
}

// 1 for "b", 1000^n for the n-th of "kb", "mb", …, 1024^n for "kib", "mib", …; 0 for no such unit.
double bytes_of_unit(const std::string& unit) {
  if (unit == "b") return 1;
  constexpr std::string_view kPrefixes = "kmgtp";
  if (unit.size() < 2 || unit.size() > 3 || unit.back() != 'b') return 0;
  const size_t power = kPrefixes.find(unit.front());
  if (power == std::string_view::npos || (unit.size() == 3 && unit[1] != 'i')) return 0;
  return std::pow(unit.size() == 3 ? 1024.0 : 1000.0, static_cast<double>(power + 1));
}

double seconds_of_unit(const std::string& unit) {
  constexpr double kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (unit == "s") return 1;
  if (unit == "m") return kMinute;
  if (unit == "h") return kHour;
  if (unit == "d") return kDay;
  return unit == "w" ? 7 * kDay : 0;
}

}  // namespace

std::optional<Quantity> parse_quantity(std::string_view text) {
  const std::string trimmed = trim(text);
  Quantity quantity;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), quantity.number,
                                            std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(quantity.number)) return std::nullopt;
  quantity.unit =
      to_lower(trim(std::string_view(end, static_cast<size_t>(trimmed.data() + trimmed.size() - end))));
  for (const char letter : quantity.unit) {
    if (letter < 'a' || letter > 'z') return std::nullopt;
  }
  return quantity;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  const std::optional<Quantity> quantity = parse_quantity(text);
  return quantity ? whole(quantity->number, bytes_of_unit(quantity->unit)) : std::nullopt;
}

std::optional<int64_t> parse_age(std::string_view text) {
  const std::optional<Quantity> quantity = parse_quantity(text);
  return quantity ? whole(quantity->number, seconds_of_unit(quantity->unit)) : std::nullopt;
}

}  // namespace hftrain
