// SentencePiece's way with spaces: they become a visible character, mostly "▁". A pre-tokenizer and a decoder
// share it.
#pragma once

#include <string>
#include <string_view>

#include "hftrain/tokenizer/json_part.h"

namespace hftrain::tokenizer {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁

struct Metaspace {
  enum class Prepend { kFirst, kNever, kAlways };
  std::string replacement{kSpaceMark};
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

// Knows the old spelling too, where `add_prefix_space: false` means never.
Metaspace read_metaspace(const JsonPart& part);

}  // namespace hftrain::tokenizer
