#include "hftrain/tokenizer/token_cache.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {
namespace {

constexpr size_t kLongestPlacedPiece = 256;   // longer ones hardly ever come again
constexpr size_t kLongestTokenText = 0xFFFF;  // more does not fit

bool fits(std::string_view piece, std::span<const PlacedToken> tokens, uint32_t words) {
  return piece.size() <= kLongestPlacedPiece && tokens.size() <= 0xFFFF && words <= 0xFFFF &&
         std::all_of(tokens.begin(), tokens.end(), [](const PlacedToken& token) {
           return token.begin <= 0xFFFF && token.end <= 0xFFFF && token.word <= 0xFFFF &&
                  token.text.size() <= kLongestTokenText;
         });
}

PieceKey long_key(std::string_view piece) {
  return {hash_text(piece), ~uint64_t{0}};
}

}  // namespace

// As in PieceCache: zero pages that are not touched cost nothing, and a zero key is no piece.
TokenCache::TokenCache() : slots_(static_cast<Slot*>(std::calloc(size_t{1} << kSlotBits, sizeof(Slot)))) {
  if (slots_ == nullptr) throw std::bad_alloc();
}

void TokenCache::FreeSlots::operator()(Slot* slots) const {
  std::free(slots);
}

const TokenCache::Slot* TokenCache::long_slot(std::string_view piece) const {
  if (piece.size() > kLongestPlacedPiece || long_slots_.empty()) return nullptr;
  const PieceKey key = long_key(piece);
  const size_t at = key.slot(kLongSlotBits);
  return long_slots_[at].key == key && long_pieces_[at] == piece ? &long_slots_[at] : nullptr;
}

TokenCache::Slot& TokenCache::free_slot(std::string_view piece) {
  if (piece.size() <= kShortPiece) {
    const PieceKey key = PieceKey::of(piece, piece.data() + piece.size());
    Slot& slot = slots_[key.slot(kSlotBits)];
    slot.key = key;
    return slot;
  }
  if (long_slots_.empty()) {
    long_slots_.resize(size_t{1} << kLongSlotBits, Slot{});
    long_pieces_.resize(long_slots_.size());
  }
  const PieceKey key = long_key(piece);
  const size_t at = key.slot(kLongSlotBits);
  long_pieces_[at] = piece;
  long_slots_[at].key = key;
  return long_slots_[at];
}

void TokenCache::clear() {
  std::memset(static_cast<void*>(slots_.get()), 0, sizeof(Slot) << kSlotBits);
  long_slots_.clear();
  long_pieces_.clear();
  tokens_.clear();
  texts_.clear();
}

void TokenCache::insert(std::string_view piece, std::span<const PlacedToken> tokens, uint32_t words) {
  if (!fits(piece, tokens, words)) return;
  if (tokens_.size() + tokens.size() > kTokenLimit || texts_.size() > kTextLimit) clear();
  Slot& slot = free_slot(piece);
  slot.first = static_cast<uint32_t>(tokens_.size());
  slot.count = static_cast<uint16_t>(tokens.size());
  slot.words = static_cast<uint16_t>(words);
  for (const PlacedToken& token : tokens) {
    const auto narrow = [](auto value) { return static_cast<uint16_t>(value); };
    tokens_.push_back({token.id, narrow(token.begin), narrow(token.end), narrow(token.word),
                       narrow(token.text.size()), static_cast<uint32_t>(texts_.size())});
    texts_ += token.text;
  }
}

}  // namespace hftrain::tokenizer
