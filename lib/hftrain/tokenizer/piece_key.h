// Short pieces of text as numbers: what the caches of tokenized pieces look up.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hftrain::tokenizer {

constexpr size_t kShortPiece = 15;  // bytes; longer ones have no key

// Bytes of a short piece with its size in the top byte; a zero key is no piece.
struct PieceKey {
  uint64_t low, high;

  bool operator==(const PieceKey&) const = default;

  // `text_end` bounds what may be read behind the piece.
  static PieceKey of(std::string_view piece, const char* text_end) {
    PieceKey key{0, 0};
    const size_t size = piece.size();
    if (static_cast<size_t>(text_end - piece.data()) >= 16) {
      std::memcpy(&key, piece.data(), 16);
      if (size <= 8) {
        key.low &= size == 0 ? 0 : ~uint64_t{0} >> (64 - 8 * size);
        key.high = 0;
      } else {
        key.high &= ~uint64_t{0} >> (128 - 8 * size);
      }
    } else {
      std::memcpy(&key, piece.data(), size);
    }
    key.high |= uint64_t{size} << 56;
    return key;
  }

  // The slot in a table of 2^bits.
  size_t slot(int bits) const {
    const auto product =
        static_cast<unsigned __int128>(low ^ 0x9E3779B97F4A7C15) * (high ^ 0xC2B2AE3D27D4EB4F);
    return static_cast<size_t>((static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64)) >>
                               (64 - bits));
  }
};

}  // namespace hftrain::tokenizer
