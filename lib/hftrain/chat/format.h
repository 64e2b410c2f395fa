// Python's two ways of formatting: "%s %5.2f" % values and "{} {:>5}".format(values).
#pragma once

#include <string>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// format % values: a tuple is several values, a dict gives %(name)s.
Value percent_formatted(Runtime& runtime, const Text& format, const Value& values);

// format.format(…): fields by number or name, with members, items and conversions.
Value brace_formatted(Runtime& runtime, const Text& format, const Arguments& arguments);

// [[fill]align][sign][#][0][width][,_][.precision][type]
struct FormatSpec {
  char32_t fill = ' ';
  char align = 0;  // < > ^ =
  char sign = '-';
  bool alternate = false;
  int64_t width = 0;
  char grouping = 0;
  int64_t precision = -1;
  char type = 0;
};

FormatSpec read_format_spec(Runtime& runtime, std::string_view text);
// format(value, spec). Errors: a type that the value does not have.
std::string formatted(Runtime& runtime, const Value& value, FormatSpec spec);
// Digits of a whole number without its sign, in the base of `type` (d x X o b), and of a float with `precision` places.
std::string digits_of(int64_t value, char type);
std::string digits_of(double value, char type, int64_t precision, bool alternate);
// `text` filled up to spec.width characters.
std::string padded(Runtime& runtime, const std::string& text, const FormatSpec& spec);

}  // namespace hftrain::chat
