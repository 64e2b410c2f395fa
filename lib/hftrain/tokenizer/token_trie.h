// All tokens that a text begins with, found byte by byte. The nodes of the tree lie in breadth-first order,
// so that the children of a node are neighbours and need no pointers. Immutable; may be read from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

class TokenTrie {
 public:
  using Node = uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNowhere = UINT32_MAX;

  // Of every token of the vocabulary but an empty one. Takes about 9 bytes for each byte of the tokens.
  explicit TokenTrie(const Vocabulary& vocabulary);

  // The child of `node` for `byte`, or kNowhere.
  Node step(Node node, char byte) const {
    const auto label = static_cast<uint8_t>(byte);
    if (node == kRoot) return from_root_[label];
    const Node end = first_child_[node + 1];
    for (Node child = first_child_[node]; child < end; ++child) {
      if (labels_[child] >= label) return labels_[child] == label ? child : kNowhere;
    }
    return kNowhere;
  }
  Node walk(Node node, std::string_view text) const;           // a step for each byte
  TokenId token_at(Node node) const { return tokens_[node]; }  // that ends here, or kNoToken

 private:
  std::vector<uint8_t> labels_;    // of the step that leads to a node
  std::vector<TokenId> tokens_;    // of a node
  std::vector<Node> first_child_;  // of a node, and one more: its children end where those of the next begin
  std::array<Node, 256> from_root_;
};

}  // namespace hftrain::tokenizer
