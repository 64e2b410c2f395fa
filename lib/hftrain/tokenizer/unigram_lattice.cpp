#include "hftrain/tokenizer/unigram_lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hftrain/tokenizer/unicode/utf8.h"
#include "hftrain/tokenizer/unigram_model.h"

namespace hftrain::tokenizer {
namespace {

Vocabulary vocabulary_of(const std::vector<ScoredPiece>& pieces) {
  Vocabulary vocabulary;
  for (size_t i = 1; i < pieces.size(); ++i) vocabulary.add(pieces[i].first, static_cast<TokenId>(i));
  return vocabulary;
}

double log_sum(double a, double b) {
  const double low = std::min(a, b), high = std::max(a, b);
  constexpr double kNegligible = 50;
  return high > low + kNegligible ? high : high + std::log(std::exp(low - high) + 1.0);
}

// A way from a node to the end of the text.
struct PartialWay {
  double best_total;  // with the best way to the node
  double score;       // of the node and what follows
  uint32_t node;
  size_t next;   // way that it goes on with
  size_t order;  // of its making
  bool operator<(const PartialWay& other) const {
    return best_total != other.best_total ? best_total < other.best_total : order < other.order;
  }
};

}  // namespace

PieceSet::PieceSet(std::vector<ScoredPiece> pieces)
    : pieces_(std::move(pieces)),
      trie_(vocabulary_of(pieces_)),
      lowest_score_(std::numeric_limits<double>::infinity()) {
  for (size_t i = 1; i < pieces_.size(); ++i) lowest_score_ = std::min(lowest_score_, pieces_[i].second);
}

void UnigramLattice::add_node(uint32_t begin, uint32_t end, TokenId id, double score) {
  ending_[end].push_back(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({begin, end, id, score});
}

void UnigramLattice::fill(std::string_view text) {
  size_ = static_cast<uint32_t>(text.size());
  nodes_.clear();
  if (ending_.size() <= size_) ending_.resize(size_ + 1);
  for (uint32_t i = 0; i <= size_; ++i) ending_[i].clear();
  first_beginning_.assign(size_ + 1, 1);
  add_node(0, 0, kNoToken, 0);
  const TokenTrie& trie = pieces_.trie();
  for (uint32_t begin = 0, size; begin < size_; begin += size) {
    size = static_cast<uint32_t>(unicode::size_of(text[begin]));
    bool is_piece = false;
    TokenTrie::Node node = TokenTrie::kRoot;
    for (uint32_t end = begin; end < size_;) {
      node = trie.step(node, text[end++]);
      if (node == TokenTrie::kNowhere) break;
      const TokenId id = trie.token_at(node);
      if (id == kNoToken) continue;
      add_node(begin, end, id, pieces_.pieces()[static_cast<size_t>(id)].second);
      is_piece = is_piece || end == begin + size;
    }
    if (!is_piece) add_node(begin, begin + size, 0, pieces_.lowest_score() - kUnknownPenalty);
    for (uint32_t i = begin + 1; i <= begin + size; ++i)
      first_beginning_[i] = static_cast<uint32_t>(nodes_.size());
  }
}

void UnigramLattice::add_expected(double count, std::vector<double>& expected) const {
  std::vector<double> before(size_ + 1, 0), behind(size_ + 1, 0);  // logarithms of the sums of all ways
  for (uint32_t at = 1; at <= size_; ++at) {
    bool is_first = true;
    for (const uint32_t index : ending_[at]) {
      const double way = nodes_[index].score + before[nodes_[index].begin];
      before[at] = is_first ? way : log_sum(before[at], way);
      is_first = false;
    }
  }
  for (uint32_t at = size_; at-- > 0;) {
    bool is_first = true;
    for (uint32_t index = first_beginning_[at]; index < first_beginning_[at + 1]; ++index) {
      const double way = nodes_[index].score + behind[nodes_[index].end];
      behind[at] = is_first ? way : log_sum(behind[at], way);
      is_first = false;
    }
  }
  const double all = before[size_];
  for (size_t i = kStart + 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    expected[static_cast<size_t>(node.id)] +=
        count * std::exp(before[node.begin] + node.score + behind[node.end] - all);
  }
}

uint32_t UnigramLattice::best_before(uint32_t position, double score, double& path_score) const {
  uint32_t best = kStart;
  bool is_first = true;
  for (const uint32_t index : ending_[position]) {
    const double total = nodes_[index].path_score + score;
    if (!is_first && !(total > path_score)) continue;
    best = index;
    path_score = total;
    is_first = false;
  }
  return best;
}

void UnigramLattice::find_best_paths() {
  for (size_t i = kStart + 1; i < nodes_.size(); ++i)
    nodes_[i].previous = best_before(nodes_[i].begin, nodes_[i].score, nodes_[i].path_score);
}

std::vector<TokenId> UnigramLattice::best() {
  find_best_paths();
  std::vector<TokenId> ids;
  double total = 0;
  for (uint32_t index = best_before(size_, 0, total); index != kStart; index = nodes_[index].previous)
    ids.push_back(nodes_[index].id);
  std::reverse(ids.begin(), ids.end());
  return ids;
}

std::vector<std::vector<TokenId>> UnigramLattice::two_best() {
  find_best_paths();
  std::vector<PartialWay> ways;  // all that were made
  std::vector<PartialWay> open;  // a heap
  constexpr size_t kEnd = SIZE_MAX;
  const auto lengthen = [&](uint32_t position, double score, size_t next) {
    for (const uint32_t index : ending_[position]) {
      const Node& node = nodes_[index];
      ways.push_back({node.path_score + score, node.score + score, index, next, ways.size()});
      open.push_back(ways.back());
      std::push_heap(open.begin(), open.end());
    }
  };
  std::vector<std::vector<TokenId>> found;
  lengthen(size_, 0, kEnd);
  while (!open.empty() && found.size() < 2) {
    std::pop_heap(open.begin(), open.end());
    const PartialWay way = open.back();
    open.pop_back();
    if (way.node != kStart) {
      lengthen(nodes_[way.node].begin, way.score, way.order);
      continue;
    }
    std::vector<TokenId>& ids = found.emplace_back();
    for (size_t next = way.next; next != kEnd; next = ways[next].next)
      ids.push_back(nodes_[ways[next].node].id);
  }
  return found;
}

}  // namespace hftrain::tokenizer
