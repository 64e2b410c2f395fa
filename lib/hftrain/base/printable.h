// Text of others for a terminal: of another machine, of a file. What would move the cursor, colour or retitle
// the terminal, or stand in for other text, is written out instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "hftrain/base/json.h"

namespace hftrain {

// Where the first byte is that is no UTF-8 (overlong forms, halves of surrogate pairs and what lies above U+10FFFF are
// none); nothing in text that is all UTF-8, as JSON must be.
std::optional<size_t> first_invalid_utf8(std::string_view text);

enum class Lines { kOne, kMany };

// Control characters (C0 but tab, DEL, C1), bytes that are no UTF-8 and marks that turn the direction of text
// become \x1b, \u202e and the like. With kMany a newline stays, with kOne it becomes \x0a.
std::string printable(std::string_view text, Lines lines = Lines::kOne);

// The same for every text in a value, its keys among them.
void make_printable(Json& value, Lines lines);

}  // namespace hftrain
