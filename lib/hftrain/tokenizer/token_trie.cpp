#include "hftrain/tokenizer/token_trie.h"

#include <algorithm>

namespace hftrain::tokenizer {
namespace {

// The tokens that begin with the bytes on the way to a node.
struct SharedStart {
  size_t begin, end;  // among the sorted tokens
  size_t size;        // of what they share
};

}  // namespace

TokenTrie::TokenTrie(const Vocabulary& vocabulary) {
  std::vector<std::pair<std::string_view, TokenId>> sorted;
  sorted.reserve(vocabulary.size());
  for (size_t i = 0; i < vocabulary.size(); ++i)
    sorted.emplace_back(vocabulary.token_at(i), vocabulary.id_at(i));
  std::sort(sorted.begin(), sorted.end());
  std::vector<SharedStart> starts = {{0, sorted.size(), 0}};
  labels_.push_back(0);
  for (size_t node = 0; node < starts.size(); ++node) {
    auto [begin, end, size] = starts[node];
    places_.push_back({static_cast<Node>(starts.size()), kNoToken});
    if (begin < end && sorted[begin].first.size() == size) places_.back().token = sorted[begin++].second;
    while (begin < end) {
      const char label = sorted[begin].first[size];
      const size_t child_begin = begin;
      while (begin < end && sorted[begin].first[size] == label) ++begin;
      labels_.push_back(static_cast<uint8_t>(label));
      starts.push_back({child_begin, begin, size + 1});
    }
  }
  places_.push_back({static_cast<Node>(starts.size()), kNoToken});
  places_[kRoot].token = kNoToken;
  from_root_.fill(kNowhere);
  for (Node child = places_[kRoot].first_child; child < places_[kRoot + 1].first_child; ++child)
    from_root_[labels_[child]] = child;
}

TokenTrie::Node TokenTrie::walk(Node node, std::string_view text) const {
  for (const char byte : text) {
    if (node == kNowhere) break;
    node = step(node, byte);
  }
  return node;
}

}  // namespace hftrain::tokenizer
