// All ways to spell a text with scored pieces, and what training asks of them: the best ones, and how often
// each piece is expected. Kudo 2018 (arXiv:1804.10959). Sums are taken in the order in which the PyPI
// `tokenizers` package takes them.
#pragma once

#include <string_view>
#include <vector>

#include "hftrain/tokenizer/substring_seeds.h"
#include "hftrain/tokenizer/token_trie.h"

namespace hftrain::tokenizer {

// Pieces with a trie over them. Piece 0 stands for characters that no piece is; its text is never matched.
class PieceSet {
 public:
  explicit PieceSet(std::vector<ScoredPiece> pieces);

  const std::vector<ScoredPiece>& pieces() const { return pieces_; }
  size_t size() const { return pieces_.size(); }
  const TokenTrie& trie() const { return trie_; }
  double lowest_score() const { return lowest_score_; }

 private:
  std::vector<ScoredPiece> pieces_;
  TokenTrie trie_;
  double lowest_score_;
};

// One owner at a time; may be filled again and again.
class UnigramLattice {
 public:
  explicit UnigramLattice(const PieceSet& pieces) : pieces_(pieces) {}

  void fill(std::string_view text);  // valid UTF-8, not empty
  // Adds to `expected` how often each piece occurs in `count` texts like this, by the forward-backward rule.
  void add_expected(double count, std::vector<double>& expected) const;
  // Pieces of the best way.
  std::vector<TokenId> best();
  // Of the best way and the second best; of the best alone where there is one way.
  std::vector<std::vector<TokenId>> two_best();

 private:
  struct Node {
    uint32_t begin, end;  // bytes
    TokenId id;
    double score;
    double path_score = 0;  // of the best way to its end
    uint32_t previous = 0;  // node of that way
  };
  static constexpr uint32_t kStart = 0;  // the node in front of the text

  void add_node(uint32_t begin, uint32_t end, TokenId id, double score);
  void find_best_paths();
  uint32_t best_before(uint32_t position, double score, double& path_score) const;

  const PieceSet& pieces_;
  uint32_t size_ = 0;
  std::vector<Node> nodes_;                    // by their beginning
  std::vector<std::vector<uint32_t>> ending_;  // nodes by their end
  std::vector<uint32_t> first_beginning_;      // the first node that begins at a byte or behind it
};

}  // namespace hftrain::tokenizer
