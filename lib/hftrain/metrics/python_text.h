// Text as Python's str sees it: the reference packages are Python, and what they call a space, a word or a
// lower-case letter decides their numbers. Every function takes any bytes; what is not UTF-8 is read as
// U+FFFD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/unicode/python_text.h"

namespace hftrain::metrics {

using tokenizer::unicode::characters;
using tokenizer::unicode::is_python_space;
using tokenizer::unicode::is_python_word;
using tokenizer::unicode::python_lower;
using tokenizer::unicode::utf8;

std::vector<std::string> python_split(std::string_view text);  // str.split(): on runs of spaces
std::string python_rstrip(std::string_view text);              // str.rstrip()
std::string python_strip(std::string_view text);               // str.strip()

// Without the 32 characters of string.punctuation, which are ASCII.
std::string without_punctuation(std::string_view text);

// round(value, digits): of a Python float (`numpy` false; by its exact decimal value), or of a numpy.float64,
// which multiplies, rounds to even and divides.
double python_round(double value, int digits, bool numpy = false);

}  // namespace hftrain::metrics
