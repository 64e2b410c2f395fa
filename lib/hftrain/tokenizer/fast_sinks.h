// Where a FastRun puts tokens: ids alone, or encodings. Each answers from its cache what it can.
//
//   known(piece, text_end, origin, lead)             adds the tokens of a piece seen before; false when it was not
//   learned(piece, tokens, words, origin, lead)      adds those of a new one and remembers them
//   added(token, text, origin)                       an added token, which is a word of its own
//   end_word()                                       what came since belongs to one word
//
// `origin` is the byte of the original where the piece begins. With a `lead` the piece begins with a space that
// was put there and counts as the character of so many bytes behind it.
#pragma once

#include <algorithm>
#include <string_view>

#include "hftrain/tokenizer/added_tokens.h"
#include "hftrain/tokenizer/character_offsets.h"
#include "hftrain/tokenizer/piece_cache.h"
#include "hftrain/tokenizer/token_cache.h"

namespace hftrain::tokenizer {

class IdSink {
 public:
  static constexpr bool kKeepsPlaces = false;

  IdSink(PieceCache& cache, std::vector<TokenId>& ids) : cache_(cache), ids_(ids) {}

  bool known(std::string_view piece, const char* text_end, size_t, size_t) {
    return cache_.append(piece, text_end, ids_);
  }
  void learned(std::string_view piece, std::span<const PlacedToken> tokens, uint32_t, size_t, size_t) {
    const size_t before = ids_.size();
    for (const PlacedToken& token : tokens) ids_.push_back(token.id);
    cache_.insert(piece, ids_.data() + before, tokens.size());
  }
  void added(const AddedToken& token, std::string_view, size_t) { ids_.push_back(token.id); }
  void end_word() {}

 private:
  PieceCache& cache_;
  std::vector<TokenId>& ids_;
};

// Adds ids, tokens, offsets and words; the rest of an Encoding is the same for all tokens.
class EncodingSink {
 public:
  static constexpr bool kKeepsPlaces = true;

  // All tokens belong to `word`, or to the words that they are from with kUnassigned.
  EncodingSink(TokenCache& cache, const CharacterOffsets& offsets, int32_t word, Encoding& encoding)
      : cache_(cache), offsets_(offsets), word_(word), encoding_(encoding) {}

  bool known(std::string_view piece, const char* text_end, size_t origin, size_t lead) {
    const auto found = cache_.find(piece, text_end);
    if (!found) return false;
    for (const TokenCache::Token& token : found->tokens)
      add(token.id, cache_.text_of(token), place(token.begin, token.end, origin, lead), token.word);
    words_ += static_cast<int32_t>(found->words);
    return true;
  }
  void learned(std::string_view piece, std::span<const PlacedToken> tokens, uint32_t words, size_t origin,
               size_t lead) {
    for (const PlacedToken& token : tokens)
      add(token.id, token.text, place(token.begin, token.end, origin, lead), token.word);
    words_ += static_cast<int32_t>(words);
    cache_.insert(piece, tokens, words);
  }
  void added(const AddedToken& token, std::string_view text, size_t origin) {
    add(token.id, text, {origin, origin + text.size()}, 0);
    ++words_;
  }
  void end_word() { ++words_; }

 private:
  static std::pair<size_t, size_t> place(size_t begin, size_t end, size_t origin, size_t lead) {
    if (lead == 0) return {origin + begin, origin + end};
    return {origin + begin - std::min<size_t>(begin, 1),
            origin + std::max(end - std::min<size_t>(end, 1), lead)};
  }
  void add(TokenId id, std::string_view text, std::pair<size_t, size_t> bytes, uint32_t word) {
    encoding_.ids.push_back(id);
    encoding_.tokens.emplace_back(text);
    encoding_.offsets.push_back(offsets_(bytes));
    encoding_.word_ids.push_back(word_ == kUnassigned ? words_ + static_cast<int32_t>(word) : word_);
  }

  TokenCache& cache_;
  const CharacterOffsets& offsets_;
  int32_t word_;
  int32_t words_ = 0;  // of the text so far
  Encoding& encoding_;
};

}  // namespace hftrain::tokenizer
