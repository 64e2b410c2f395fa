// Byte pair encoding: starts from characters and merges the pair of the lowest rank, leftmost first, until
// none is left. Sennrich et al. 2016 (arXiv:1508.07909), with the options that tokenizer.json knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/tokenizer/merge_table.h"
#include "hftrain/tokenizer/model.h"

namespace hftrain::tokenizer {

struct BpeOptions {
  std::optional<std::string> unknown_token;
  std::string continuing_prefix;  // of every character but the first
  std::string end_of_word;        // behind the last character
  bool fuse_unknown = false;
  bool byte_fallback = false;  // <0xNN> tokens for characters that are not in the vocabulary
  bool ignore_merges = false;  // a piece that is a token is taken whole
};

// A token in the making.
struct Symbol {
  TokenId id;
  uint32_t size;  // bytes of the piece; 0 once swallowed by its left neighbour
};

class BpeModel : public Model {
 public:
  BpeModel(Vocabulary vocabulary, MergeTable merges, BpeOptions options);

  void tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  const BpeOptions& options() const { return options_; }

  // The merges alone, in place: what is left of `symbols` are the tokens.
  void merge(std::vector<Symbol>& symbols) const;

  // True when every byte, as a character of the byte-level alphabet, is a token. Then `tokenize_bytes` does
  // for raw bytes what `tokenize` does for the same bytes written in that alphabet.
  bool knows_all_bytes() const { return knows_all_bytes_; }
  void tokenize_bytes(std::string_view bytes, std::vector<Symbol>& symbols) const;

  // True when no merge joins a "▁" to something other than "▁" on its left. Then a text may be cut before
  // every such "▁" and tokenized in pieces, with the same result.
  bool splits_before_metaspace() const { return splits_before_metaspace_; }
  void set_splits_before_metaspace(bool value) { splits_before_metaspace_ = value; }

  // The symbols of `piece` before any merge.
  void start(std::string_view piece, std::vector<Symbol>& symbols) const;

 private:
  void merge_short(std::vector<Symbol>& symbols) const;
  void merge_long(std::vector<Symbol>& symbols) const;
  bool fall_back_to_bytes(std::string_view character, std::vector<Symbol>& symbols) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  TokenId unknown_id_ = kNoToken;
  TokenId byte_level_ids_[256];
  TokenId fallback_ids_[256];
  bool knows_all_bytes_ = true;
  bool splits_before_metaspace_ = false;
};

}  // namespace hftrain::tokenizer
