// Learns merges from words that are spelled with tokens: the pair of neighbours that is most frequent becomes a
// token, again and again; of pairs equally frequent the one of the smaller ids. As the PyPI `tokenizers`
// package's BpeTrainer does, whose WordPieceTrainer is the same with a prefix.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hftrain/tokenizer/vocabulary.h"

namespace hftrain::tokenizer {

struct LearnedMerges {
  std::vector<std::string> tokens;  // by id: those that were there, then those learned
  std::vector<std::pair<TokenId, TokenId>> merges;
};

class MergeLearner {
 public:
  // `tokens` by id, each once. A token that is merged to the left loses `continuing_prefix`.
  explicit MergeLearner(std::vector<std::string> tokens, std::string continuing_prefix = "");

  void add_word(std::vector<TokenId> symbols, int64_t count);
  // Until there are `vocab_size` tokens, or no pair occurs `min_frequency` times. May be called once.
  LearnedMerges run(size_t vocab_size, int64_t min_frequency);

 private:
  using Pair = std::pair<TokenId, TokenId>;
  struct PairHash {
    size_t operator()(const Pair& pair) const {
      return (uint64_t{static_cast<uint32_t>(pair.first)} << 32 | static_cast<uint32_t>(pair.second)) *
             0x9E3779B97F4A7C15;
    }
  };
  // A pair that may merge, and the words it was seen in. A pair can be queued twice when two merges spell the
  // same token; both entries then merge in their own words, as in the package.
  struct Candidate {
    uint64_t count;
    Pair pair;
    uint32_t words;  // index into the lists of words
  };
  struct MergesLater {
    bool operator()(const Candidate& a, const Candidate& b) const {
      return a.count != b.count ? a.count < b.count : a.pair > b.pair;
    }
  };
  struct Word {
    std::vector<TokenId> symbols;
    int64_t count;
  };

  void change(Pair pair, int64_t count, uint32_t word);
  void queue_new_pairs();
  TokenId token_of(Pair pair);
  void merge(const Candidate& top);
  void merge_in(uint32_t index, Pair pair, TokenId merged);

  LearnedMerges learned_;
  Vocabulary ids_;
  std::string continuing_prefix_;
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>, PairHash> seen_in_;  // pairs that are not queued yet
  std::vector<std::vector<uint32_t>> word_lists_;
  std::priority_queue<Candidate, std::vector<Candidate>, MergesLater> queue_;
};

}  // namespace hftrain::tokenizer
