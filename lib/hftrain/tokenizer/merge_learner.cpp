#include "hftrain/tokenizer/merge_learner.h"

#include <algorithm>

namespace hftrain::tokenizer {

MergeLearner::MergeLearner(std::vector<std::string> tokens, std::string continuing_prefix)
    : continuing_prefix_(std::move(continuing_prefix)) {
  learned_.tokens = std::move(tokens);
  for (size_t i = 0; i < learned_.tokens.size(); ++i) ids_.add(learned_.tokens[i], static_cast<TokenId>(i));
}

void MergeLearner::add_word(std::vector<TokenId> symbols, int64_t count) {
  const auto word = static_cast<uint32_t>(words_.size());
  for (size_t i = 0; i + 1 < symbols.size(); ++i) change({symbols[i], symbols[i + 1]}, count, word);
  words_.push_back({std::move(symbols), count});
}

LearnedMerges MergeLearner::run(size_t vocab_size, int64_t min_frequency) {
  const auto least = static_cast<uint64_t>(std::max<int64_t>(min_frequency, 1));
  queue_new_pairs();
  while (ids_.size() < vocab_size && !queue_.empty()) {
    Candidate top = queue_.top();
    queue_.pop();
    const auto count = static_cast<uint64_t>(counts_[top.pair]);
    if (top.count != count) {
      top.count = count;
      queue_.push(top);
      continue;
    }
    if (count < least) break;
    merge(top);
  }
  return std::move(learned_);
}

void MergeLearner::change(Pair pair, int64_t count, uint32_t word) {
  counts_[pair] += count;
  if (count <= 0) return;
  std::vector<uint32_t>& words = seen_in_[pair];
  if (words.empty() || words.back() != word) words.push_back(word);
}

void MergeLearner::queue_new_pairs() {
  for (auto& [pair, words] : seen_in_) {
    const int64_t count = counts_[pair];
    if (count <= 0) continue;
    queue_.push({static_cast<uint64_t>(count), pair, static_cast<uint32_t>(word_lists_.size())});
    word_lists_.push_back(std::move(words));
  }
  seen_in_.clear();
}

TokenId MergeLearner::token_of(Pair pair) {
  const std::string& right = learned_.tokens[static_cast<size_t>(pair.second)];
  const bool is_marked = !continuing_prefix_.empty() && right.starts_with(continuing_prefix_);
  std::string token = learned_.tokens[static_cast<size_t>(pair.first)];
  token += right.substr(is_marked ? continuing_prefix_.size() : 0);
  TokenId id = ids_.id_of(token);
  if (id == kNoToken) {
    id = static_cast<TokenId>(learned_.tokens.size());
    ids_.add(token, id);
    learned_.tokens.push_back(std::move(token));
  }
  return id;
}

void MergeLearner::merge(const Candidate& top) {
  const TokenId id = token_of(top.pair);
  learned_.merges.push_back(top.pair);
  const std::vector<uint32_t> words = std::move(word_lists_[top.words]);
  for (const uint32_t word : words) merge_in(word, top.pair, id);
  queue_new_pairs();
}

void MergeLearner::merge_in(uint32_t index, Pair pair, TokenId merged) {
  std::vector<TokenId>& symbols = words_[index].symbols;
  const int64_t count = words_[index].count;
  size_t kept = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i] != pair.first || i + 1 == symbols.size() || symbols[i + 1] != pair.second) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      change({symbols[kept - 1], pair.first}, -count, index);
      change({symbols[kept - 1], merged}, count, index);
    }
    if (i + 2 < symbols.size()) {
      change({pair.second, symbols[i + 2]}, -count, index);
      change({merged, symbols[i + 2]}, count, index);
    }
    symbols[kept++] = merged;
    ++i;
  }
  symbols.resize(kept);
}

}  // namespace hftrain::tokenizer
