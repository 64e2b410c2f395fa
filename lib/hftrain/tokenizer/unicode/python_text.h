// Text as Python's str sees it: what Python calls a space, a word or a lower-case letter. Every function takes any bytes;
// what is not UTF-8 is read as U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace hftrain::tokenizer::unicode {

bool is_python_space(char32_t c);  // str.isspace, \s
bool is_python_word(char32_t c);   // \w: letters, numbers and the underscore; no combining marks

// The characters of a text.
std::u32string characters(std::string_view text);
std::string utf8(std::u32string_view characters);

std::string python_lower(std::string_view text);  // str.lower()

}  // namespace hftrain::tokenizer::unicode
