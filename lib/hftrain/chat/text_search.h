// Looking for bytes in bytes in time that grows with both and not with their product, whatever they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/chat/value.h"

namespace hftrain::chat {

// std::string_view::npos where there is none.
size_t find_bytes(std::string_view text, std::string_view part, size_t from);
size_t find_last_bytes(std::string_view text, std::string_view part);

// str.count(part) and str.replace(old, fresh, count); every count below 0 is all. An empty `old` stands between all
// characters.
int64_t count_of(std::string_view text, std::string_view part);
std::string replaced(Runtime& runtime, std::string_view text, std::string_view old, std::string_view fresh,
                     int64_t count);

// The byte where character `index` begins, or the end.
size_t byte_of(const Text& text, int64_t index);
// The characters before `byte`.
int64_t character_of(const Text& text, size_t byte);

}  // namespace hftrain::chat
