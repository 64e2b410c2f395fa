// Tokens and their ids: a flat hash table over one buffer of bytes. Filled once, then only read, from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/tokenizer.h"

namespace hftrain::tokenizer {

constexpr TokenId kNoToken = -1;

// 64 bits of a short string; used by every table of this module.
uint64_t hash_text(std::string_view text);

class Vocabulary {
 public:
  void reserve(size_t tokens, size_t bytes);
  // A token given twice keeps the later id; an id given twice keeps the later token.
  void add(std::string_view token, TokenId id);

  TokenId id_of(std::string_view token) const;  // kNoToken when absent
  bool has_id(TokenId id) const {
    return static_cast<size_t>(id) < by_id_.size() && by_id_[static_cast<size_t>(id)] != 0;
  }
  std::string_view token_of(TokenId id) const;  // empty when absent
  size_t size() const { return entries_.size(); }
  // The tokens in the order of their first addition, each once.
  std::string_view token_at(size_t index) const { return text_of(entries_[index]); }
  TokenId id_at(size_t index) const { return entries_[index].id; }
  TokenId end_id() const { return static_cast<TokenId>(by_id_.size()); }  // largest id + 1
  size_t longest() const { return longest_; }                             // bytes of the longest token

 private:
  struct Entry {
    uint32_t begin;
    uint32_t size;
    TokenId id;
  };
  struct Slot {
    uint32_t hash;
    uint32_t entry;  // index + 1; 0 is a free slot
  };

  std::string_view text_of(const Entry& entry) const { return {bytes_.data() + entry.begin, entry.size}; }
  const Slot* find(std::string_view token, uint64_t hash) const;
  void grow(size_t slots);

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> by_id_;  // entry index + 1
  std::vector<Slot> slots_;      // a power of two, at most half full
  size_t longest_ = 0;
};

}  // namespace hftrain::tokenizer
