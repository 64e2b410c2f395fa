// JSON that a reader of YAML takes: all of JSON is YAML but for comments, which are no JSON either, and for characters beyond U+FFFF,
// which JSON may escape as two halves.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hftrain::arguments {

// Blanks out // and /* */ comments, so that positions stay right.
std::string without_comments(std::string text);

// A pair of escapes ("\ud83d\ude80") becomes YAML's one ("\U0001F680"). That is shorter, so blanks stand after the string, and what
// follows stays where it was. `half` is where the first escape begins that is half of a character without the other one.
std::string with_whole_characters(const std::string& text, std::optional<size_t>& half);

}  // namespace hftrain::arguments
