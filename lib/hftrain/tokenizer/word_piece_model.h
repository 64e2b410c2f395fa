// WordPiece: the longest token that a word begins with, then the longest continuing one, and so on; a word
// with a rest that no token begins is unknown as a whole. Schuster and Nakajima 2012, as BERT uses it.
#pragma once

#include <string>

#include "hftrain/tokenizer/model.h"
#include "hftrain/tokenizer/token_trie.h"

namespace hftrain::tokenizer {

struct WordPieceOptions {
  std::string unknown_token = "[UNK]";
  std::string continuing_prefix = "##";  // of every token but the first of a word
  int64_t max_word_characters = 100;     // a longer word is unknown
};

class WordPieceModel : public Model {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options);

  // Throws Error (exit code 4) for an unknown word when the unknown token is not in the vocabulary.
  void tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  bool append_tokens(std::string_view piece, std::vector<ModelToken>& tokens) const;

  Vocabulary vocabulary_;
  WordPieceOptions options_;
  TokenTrie trie_;
  TokenTrie::Node continuing_;  // where tokens behind the prefix begin
  TokenId unknown_id_;
};

}  // namespace hftrain::tokenizer
