// Filling up, indenting and cutting texts.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// str.ljust (align <), .rjust (>) and .center (^). Errors: `fill` is not one character.
std::string aligned(Runtime& runtime, const Text& text, int64_t width, std::string_view fill, char align);

// Jinja's filters of these names.
std::string indented(Runtime& runtime, std::string_view text, std::string_view indention, bool first,
                     bool blank);
std::string titled(std::string_view text);
Value truncated_text(Runtime& runtime, const Text& text, int64_t length, bool kill_words,
                     std::string_view end, int64_t leeway);
int64_t count_words(std::string_view text);
std::string file_size(double bytes, bool binary);
// urllib.parse.quote
std::string url_quoted(std::string_view text, bool for_query);

}  // namespace hftrain::chat
