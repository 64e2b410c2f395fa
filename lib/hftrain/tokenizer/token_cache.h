// Remembers the tokens of pieces with their places and texts, for encodings; PieceCache is the same for ids
// alone. One owner at a time. Of two pieces that want the same slot the later stays.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/piece_key.h"
#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

// A token of a piece of the original text.
struct PlacedToken {
  TokenId id;
  uint32_t begin, end;    // bytes of the piece that it is from
  uint32_t word;          // which of the words that the pre-tokenizer made of the piece
  std::string_view text;  // what it is called
};

class TokenCache {
 public:
  // Its text stands in the cache until the next insertion.
  struct Token {
    TokenId id;
    uint16_t begin, end, word, text_size;
    uint32_t text_begin;
  };
  struct Found {
    std::span<const Token> tokens;
    uint32_t words;  // how many there are, some of them perhaps without tokens
  };

  TokenCache();

  // `text_end` bounds what may be read behind the piece.
  std::optional<Found> find(std::string_view piece, const char* text_end) const {
    const Slot* slot = slot_of(piece, text_end);
    if (slot == nullptr) return std::nullopt;
    return Found{{tokens_.data() + slot->first, slot->count}, slot->words};
  }
  std::string_view text_of(const Token& token) const {
    return {texts_.data() + token.text_begin, token.text_size};
  }
  // Keeps what is not too large for it.
  void insert(std::string_view piece, std::span<const PlacedToken> tokens, uint32_t words);

 private:
  static constexpr int kSlotBits = 16, kLongSlotBits = 15;
  static constexpr size_t kTokenLimit = size_t{1} << 20,
                          kTextLimit = size_t{1} << 24;  // then it starts afresh

  struct Slot {
    PieceKey key;  // of a long piece its hash
    uint32_t first;
    uint16_t count, words;
  };
  struct FreeSlots {
    void operator()(Slot* slots) const;
  };

  const Slot* slot_of(std::string_view piece, const char* text_end) const {
    if (piece.size() > kShortPiece) return long_slot(piece);
    const PieceKey key = PieceKey::of(piece, text_end);
    const Slot& slot = slots_[key.slot(kSlotBits)];
    return slot.key == key ? &slot : nullptr;
  }
  const Slot* long_slot(std::string_view piece) const;
  Slot& free_slot(std::string_view piece);
  void clear();

  std::unique_ptr<Slot[], FreeSlots> slots_;
  std::vector<Slot> long_slots_;
  std::vector<std::string> long_pieces_;  // of each of these
  std::vector<Token> tokens_;
  std::string texts_;
};

}  // namespace hftrain::tokenizer
