// int() and float() of Python, for texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// int(text, base): blanks around, a sign, underscores between digits, prefixes where the base (or 0) has one. Nothing where
// Python raises ValueError. Errors: more than 64 bits.
std::optional<int64_t> read_integer(Runtime& runtime, std::string_view text, int64_t base);
// A number as it stands in a template, of digits with a prefix. Nothing beyond 64 bits.
std::optional<int64_t> integer_literal(std::string_view digits);
// float(text).
std::optional<double> read_float(std::string_view text);
// int(value) of a float. Errors: beyond 64 bits, infinite.
int64_t truncated(Runtime& runtime, double value);

}  // namespace hftrain::chat
