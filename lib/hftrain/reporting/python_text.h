// Numbers and values spelled as Python spells them, because the files and lines of a run are compared with,
// and read by, Python programs.
#pragma once

#include <string>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

// repr(float): the shortest digits that read back as the same double; 1e-05, 0.0001, 1.0, 1e+16, inf, nan.
std::string python_repr(double value);

// f"{value:.4g}" for digits = 4.
std::string python_general(double value, int digits);

// round(value, decimals), correctly rounded from the exact binary value.
double python_round(double value, int decimals);

// len(text): characters of UTF-8 text, not bytes.
size_t python_len(const std::string& text);

// repr() of a str, int, float, bool, None, list or dict; objects in `value`'s own (sorted) order.
std::string python_repr(const Json& value);

// json.dumps(value, indent=indent, sort_keys=True); indent -1 is a single line with ", " and ": ". Non-ASCII
// text is escaped and NaN, Infinity, -Infinity are written as such, as json.dumps does. No final newline.
std::string python_json(const Json& value, int indent);

}  // namespace hftrain::reporting
