// str.upper(), .lower(), .title(), .isalpha() and their like.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hftrain::chat {

enum class Case { kUpper, kLower, kTitle };

// All take valid UTF-8.
std::string in_case(std::string_view text,
                    Case form);  // every character by itself; lower case knows the final sigma
std::string capitalized(std::string_view text);
std::string title_cased(std::string_view text);  // str.title()
std::string swapped_case(std::string_view text);

bool is_cased_character(char32_t c);
bool is_printable_character(char32_t c);  // stands in repr() as itself

// str.isupper() and its like: whether the text has the quality of that place in the list. Nothing that is asked of an empty
// text is true, but for isascii and isprintable.
constexpr std::array<std::string_view, 12> kQualityNames = {
    "isalnum", "isalpha",   "isascii",     "isdecimal", "isdigit", "isidentifier",
    "islower", "isnumeric", "isprintable", "isspace",   "istitle", "isupper"};
bool has_quality(size_t index, std::string_view text);

}  // namespace hftrain::chat
