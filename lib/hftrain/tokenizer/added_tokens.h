// Tokens beside the model's vocabulary (and the special ones inside it), found in the text before anything
// else.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hftrain/tokenizer/json_part.h"
#include "hftrain/tokenizer/normalizers.h"
#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

struct AddedToken {
  TokenId id = kNoToken;
  std::string content;
  std::string normalized_content;  // what to look for in normalised text
  bool single_word = false;        // not inside a word
  bool lstrip = false;             // takes the white space on its left
  bool rstrip = false;
  bool normalized = true;  // looked for after normalisation
  bool special = false;    // left out when decoding
};

// Finds the longest of a set of texts, leftmost first.
class TokenFinder {
 public:
  struct Part {
    size_t begin;
    size_t end;
    const AddedToken* token;  // null: text between tokens
  };

  void add(std::string_view text, const AddedToken* token);
  bool empty() const { return nodes_.size() == 1; }
  // False when not even a first byte occurs.
  bool may_find(std::string_view text) const {
    return start_count_ > 0 && next_candidate(text, 0) < text.size();
  }
  // Parts that cover `text` in order, none empty (with rstrip, one may begin before the end of the one before).
  // Throws Error (exit code 4) where white space that one token has taken holds another that takes it, too.
  std::vector<Part> find(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<uint8_t, uint32_t>> children;
    const AddedToken* token = nullptr;
    uint32_t child(uint8_t byte) const;
  };
  size_t next_candidate(std::string_view text, size_t from) const;
  const AddedToken* longest_at(std::string_view text, size_t at, size_t& size) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);
  bool starts_[256] = {};
  int start_count_ = 0;
  char only_start_ = 0;
};

// Immutable after loading.
class AddedTokens {
 public:
  // `part` is the added_tokens list, or unset. Ids follow the package's rule: the model's id for a known
  // text, else the next one behind the vocabulary.
  AddedTokens(const std::vector<JsonPart>& parts, const Vocabulary& vocabulary, const Normalizer* normalizer);

  const TokenFinder& raw() const { return raw_; }                // for the text as it came
  const TokenFinder& normalized() const { return normalized_; }  // for normalised text
  const AddedToken* by_id(TokenId id) const;
  const AddedToken* by_content(std::string_view content) const;
  bool is_special(const std::string& token) const { return special_.count(token) > 0; }
  TokenId end_id() const { return end_id_; }  // largest id + 1

 private:
  std::vector<AddedToken> tokens_;  // never grows after construction: pointers into it stay
  std::unordered_map<TokenId, size_t> by_id_;
  std::unordered_map<std::string, size_t> by_content_;
  std::unordered_set<std::string> special_;
  TokenFinder raw_, normalized_;
  TokenId end_id_ = 0;
};

}  // namespace hftrain::tokenizer
