// Remembers the ids of pieces that were tokenized before: text is mostly the same few thousand words. One
// owner at a time. Short pieces live in the table itself, keyed by their bytes; longer ones keep their bytes
// beside it. Of two pieces that want the same slot the later stays.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

class PieceCache {
 public:
  PieceCache();

  // Appends the ids of `piece` and returns true, or returns false. `text_end` bounds what may be read behind
  // the piece.
  bool append(std::string_view piece, const char* text_end, std::vector<TokenId>& ids) const {
    if (piece.size() > kShortPiece) return append_long(piece, ids);
    const Key key = key_of(piece, text_end);
    const Slot& slot = slots_[slot_of(key)];
    if (slot.key.low != key.low || slot.key.high != key.high) return false;
    append_ids(slot, ids);
    return true;
  }
  void insert(std::string_view piece, const TokenId* ids, size_t count);

 private:
  static constexpr size_t kShortPiece = 15;
  static constexpr size_t kInlineIds = 3;
  static constexpr int kSlotBits = 16;
  static constexpr size_t kArenaLimit = size_t{1} << 20;  // elements; then the cache starts afresh

  // Bytes of a short piece with its size in the top byte, or the hash of a long one with 0xFF there.
  struct Key {
    uint64_t low, high;
  };
  struct Slot {
    Key key;
    uint32_t count;
    TokenId ids[kInlineIds];  // or, when count is larger, ids[0] is where they begin in the arena
  };
  struct LongPiece {
    uint64_t hash;
    std::string text;
    std::vector<TokenId> ids;
  };

  static Key key_of(std::string_view piece, const char* text_end) {
    Key key{0, 0};
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
  static size_t slot_of(const Key& key) {
    const auto product =
        static_cast<unsigned __int128>(key.low ^ 0x9E3779B97F4A7C15) * (key.high ^ 0xC2B2AE3D27D4EB4F);
    return static_cast<size_t>((static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64)) >>
                               (64 - kSlotBits));
  }
  void append_ids(const Slot& slot, std::vector<TokenId>& ids) const {
    if (slot.count == 1) {
      ids.push_back(slot.ids[0]);
      return;
    }
    const TokenId* begin = slot.count <= kInlineIds ? slot.ids : arena_.data() + slot.ids[0];
    ids.insert(ids.end(), begin, begin + slot.count);
  }
  bool append_long(std::string_view piece, std::vector<TokenId>& ids) const;

  struct FreeSlots {
    void operator()(Slot* slots) const;
  };
  std::unique_ptr<Slot[], FreeSlots> slots_;
  std::vector<TokenId> arena_;
  std::vector<LongPiece> long_pieces_;
};

}  // namespace hftrain::tokenizer
