#include "hftrain/tokenizer/piece_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {
namespace {

constexpr size_t kLongSlots = 1 << 13;
constexpr size_t kLongestPiece = 256;  // longer ones hardly ever come again

}  // namespace

// calloc hands out untouched zero pages, so a cache costs only what is used of it. A zero key is no piece:
// its size is 0.
PieceCache::PieceCache() : slots_(static_cast<Slot*>(std::calloc(size_t{1} << kSlotBits, sizeof(Slot)))) {
  if (slots_ == nullptr) throw std::bad_alloc();
}

void PieceCache::FreeSlots::operator()(Slot* slots) const {
  std::free(slots);
}

bool PieceCache::append_long(std::string_view piece, std::vector<TokenId>& ids) const {
  if (piece.size() > kLongestPiece || long_pieces_.empty()) return false;
  const uint64_t hash = hash_text(piece);
  const LongPiece& slot = long_pieces_[hash % kLongSlots];
  if (slot.hash != hash || slot.text != piece) return false;
  ids.insert(ids.end(), slot.ids.begin(), slot.ids.end());
  return true;
}

void PieceCache::insert(std::string_view piece, const TokenId* ids, size_t count) {
  if (piece.size() > kLongestPiece) return;
  if (piece.size() > kShortPiece) {
    if (long_pieces_.empty()) long_pieces_.resize(kLongSlots);
    const uint64_t hash = hash_text(piece);
    long_pieces_[hash % kLongSlots] = {hash, std::string(piece), {ids, ids + count}};
    return;
  }
  const PieceKey key = PieceKey::of(piece, piece.data() + piece.size());
  Slot& slot = slots_[key.slot(kSlotBits)];
  slot.key = key;
  slot.count = static_cast<uint32_t>(count);
  if (count <= kInlineIds) {
    std::copy(ids, ids + count, slot.ids);
    return;
  }
  if (arena_.size() + count > kArenaLimit) {
    std::memset(static_cast<void*>(slots_.get()), 0, sizeof(Slot) << kSlotBits);
    arena_.clear();
    slot.key = key;
    slot.count = static_cast<uint32_t>(count);
  }
  slot.ids[0] = static_cast<TokenId>(arena_.size());
  arena_.insert(arena_.end(), ids, ids + count);
}

}  // namespace hftrain::tokenizer
