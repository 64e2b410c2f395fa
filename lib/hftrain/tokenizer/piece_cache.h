// Remembers the ids of pieces that were tokenized before: text is mostly the same few thousand words. One
// owner at a time. Short pieces live in the table itself, keyed by their bytes; longer ones keep their bytes
// beside it. Of two pieces that want the same slot the later stays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/piece_key.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

class PieceCache {
 public:
  PieceCache();

  // Appends the ids of `piece` and returns true, or returns false. `text_end` bounds what may be read behind
  // the piece.
  bool append(std::string_view piece, const char* text_end, std::vector<TokenId>& ids) const {
    if (piece.size() > kShortPiece) return append_long(piece, ids);
    const PieceKey key = PieceKey::of(piece, text_end);
    const Slot& slot = slots_[key.slot(kSlotBits)];
    if (slot.key != key) return false;
    append_ids(slot, ids);
    return true;
  }
  void insert(std::string_view piece, const TokenId* ids, size_t count);

 private:
  static constexpr size_t kInlineIds = 3;
  static constexpr int kSlotBits = 16;
  static constexpr size_t kArenaLimit = size_t{1} << 20;  // elements; then the cache starts afresh

  struct Slot {
    PieceKey key;
    uint32_t count;
    TokenId ids[kInlineIds];  // or, when count is larger, ids[0] is where they begin in the arena
  };
  struct LongPiece {
    uint64_t hash;
    std::string text;
    std::vector<TokenId> ids;
  };

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
