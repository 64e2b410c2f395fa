// Amounts with their unit, as people write them on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hftrain {

struct Quantity {
  double number = 0;
  std::string unit;  // lower case; empty for a bare number
};

// "16cores", "80GiB", "1.5 TiB": a finite number, then letters. Nothing for another text.
std::optional<Quantity> parse_quantity(std::string_view text);

// "20GiB", "1.5TB": KiB to PiB of 1024, KB to PB of 1000, B. Nothing for a text without one of these units,
// below 0 or beyond 2^62.
std::optional<int64_t> parse_bytes(std::string_view text);

// "30d", "12h": seconds; s, m, h, d or w. Nothing for another text, or below 0.
std::optional<int64_t> parse_age(std::string_view text);

}  // namespace hftrain
