// The byte-level alphabet of GPT-2: every byte is written as one printable character, so that a vocabulary of
// text can hold any bytes. 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stay; the other 68 bytes become U+0100 and
// upwards in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/unicode/normal_forms.h"

namespace hftrain::tokenizer {

char32_t byte_level_code_point(uint8_t byte);
std::string_view byte_level_character(uint8_t byte);  // the same in UTF-8
std::optional<uint8_t> byte_of_character(char32_t c);
std::string to_byte_level(std::string_view bytes);
// The same as a transformation that keeps every byte aligned with the character it belongs to.
std::vector<unicode::Change> byte_level_changes(std::string_view text);

}  // namespace hftrain::tokenizer
