// How encoded texts are cut to a length, into windows where these are asked for, and filled up to one. The
// rules are those of the PyPI `tokenizers` package.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/encoding.h"

namespace hftrain::tokenizer {

// Thrown where a text is too long and may not be cut: whoever has set the greatest length names what sets it.
class CannotTruncate final : public Error {
 public:
  CannotTruncate(std::string why, std::string hint);
};

// How many tokens of each text stay.
struct KeptLengths {
  size_t first;
  size_t second;
};

// `added` special tokens will come around texts of `first` and `second` tokens; `second` is unset where there
// is one text. Error (exit code 4) where the special tokens alone are more than max_length, and where the
// strategy cannot cut enough.
KeptLengths kept_lengths(const Truncation& truncation, size_t added, size_t first,
                         std::optional<size_t> second);

// Cuts `encoding` to `length` tokens. With `windows`, the rest becomes its `overflowing`: windows of as many
// tokens that share `stride` with their neighbours. Error (exit code 4) when `stride` is not less than
// `length`, or when the windows would fill the memory.
void truncate(Encoding& encoding, size_t length, const Truncation& truncation, bool windows);

// Error (exit code 4) when windows of `length` tokens cannot share `stride`.
void refuse_stride(const Truncation& truncation, size_t length);

// Fills the encoding, and each of its windows, up to the length that `padding` asks for.
void pad(Encoding& encoding, const Padding& padding);

// Error (exit code 4) when so many windows of so many tokens would fill the memory.
void refuse_windows(size_t windows, size_t tokens);

}  // namespace hftrain::tokenizer
