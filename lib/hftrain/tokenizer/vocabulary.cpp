#include "hftrain/tokenizer/vocabulary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace hftrain::tokenizer {

uint64_t hash_text(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  bytes_.reserve(bytes);
  entries_.reserve(tokens);
  by_id_.reserve(tokens);
  grow(std::bit_ceil(std::max<size_t>(16, tokens * 2)));
}

void Vocabulary::grow(size_t slots) {
  if (slots <= slots_.size()) return;
  slots_.assign(slots, Slot{0, 0});
  for (size_t i = 0; i < entries_.size(); ++i) {
    const uint64_t hash = hash_text(text_of(entries_[i]));
    size_t at = hash & (slots - 1);
    while (slots_[at].entry != 0) at = (at + 1) & (slots - 1);
    slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(i + 1)};
  }
}

const Vocabulary::Slot* Vocabulary::find(std::string_view token, uint64_t hash) const {
  if (slots_.empty()) return nullptr;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.entry == 0) return &slot;
    if (slot.hash == tag && text_of(entries_[slot.entry - 1]) == token) return &slot;
  }
}

void Vocabulary::add(std::string_view token, TokenId id) {
  if ((entries_.size() + 1) * 2 > slots_.size()) grow(std::max<size_t>(16, slots_.size() * 2));
  const uint64_t hash = hash_text(token);
  auto* slot = const_cast<Slot*>(find(token, hash));
  if (slot->entry == 0) {
    entries_.push_back({static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(token.size()), id});
    bytes_ += token;
    *slot = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(entries_.size())};
    longest_ = std::max(longest_, token.size());
  } else {
    entries_[slot->entry - 1].id = id;
  }
  if (static_cast<size_t>(id) >= by_id_.size()) by_id_.resize(static_cast<size_t>(id) + 1, 0);
  by_id_[static_cast<size_t>(id)] = slot->entry;
}

TokenId Vocabulary::id_of(std::string_view token) const {
  const Slot* slot = find(token, hash_text(token));
  return slot == nullptr || slot->entry == 0 ? kNoToken : entries_[slot->entry - 1].id;
}

std::string_view Vocabulary::token_of(TokenId id) const {
  return has_id(id) ? text_of(entries_[by_id_[static_cast<size_t>(id)] - 1]) : std::string_view();
}

}  // namespace hftrain::tokenizer
