// All tokens that a text begins with, found byte by byte. The nodes of the tree lie in breadth-first order,
// so that the children of a node are neighbours and need no pointers. Immutable; may be read from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
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
    const Node begin = places_[node].first_child, end = places_[node + 1].first_child;
    if (end - begin > kFew) {
      const void* found = std::memchr(labels_.data() + begin, label, end - begin);
      return found == nullptr ? kNowhere
                              : static_cast<Node>(static_cast<const uint8_t*>(found) - labels_.data());
    }
    for (Node child = begin; child < end; ++child) {
      if (labels_[child] == label) return child;
    }
    return kNowhere;
  }
  Node walk(Node node, std::string_view text) const;                 // a step for each byte
  TokenId token_at(Node node) const { return places_[node].token; }  // that ends here, or kNoToken

 private:
  static constexpr Node kFew = 6;  // children that are looked at quicker than searched

  // A node's children end where those of the next begin.
  struct Place {
    Node first_child;
    TokenId token;
  };

  std::vector<uint8_t> labels_;  // of the step that leads to a node
  std::vector<Place> places_;    // of a node, and one more
  std::array<Node, 256> from_root_;
};

}  // namespace hftrain::tokenizer
