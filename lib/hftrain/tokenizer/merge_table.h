// Which two tokens merge, in what order, and into what: a flat hash table with one probe for nearly every
// question.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

struct Merge {
  uint32_t rank;  // lower merges first; kNoMerge: never
  TokenId merged;
};
constexpr uint32_t kNoMerge = UINT32_MAX;

class MergeTable {
 public:
  void reserve(size_t merges) {
    slots_.assign(std::bit_ceil(merges * 2 + 2), Slot{kFree, {kNoMerge, 0}});
    shift_ = 64 - std::countr_zero(slots_.size());
  }
  // At most as many as were reserved; a pair given twice keeps the later rank.
  void add(TokenId left, TokenId right, Merge merge) {
    Slot& slot = const_cast<Slot&>(find_slot(key_of(left, right)));
    slot = {key_of(left, right), merge};
  }
  Merge find(TokenId left, TokenId right) const { return find_slot(key_of(left, right)).merge; }

 private:
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  static constexpr uint64_t kFree = UINT64_MAX;  // two ids of -1: never a pair

  static uint64_t key_of(TokenId left, TokenId right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  const Slot& find_slot(uint64_t key) const {
    size_t at = (key * 0x9E3779B97F4A7C15 ^ (key >> 32) * 0xC2B2AE3D27D4EB4F) >> shift_;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  std::vector<Slot> slots_{Slot{kFree, {kNoMerge, 0}}, Slot{kFree, {kNoMerge, 0}}};
  int shift_ = 63;
};

}  // namespace hftrain::tokenizer
