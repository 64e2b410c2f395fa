#include "hftrain/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "hftrain/base/error.h"
#include "hftrain/tokenizer/byte_level.h"
#include "hftrain/tokenizer/splitters.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

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

class MergeLearner {
 public:
  MergeLearner(TrainedBpe& trained, Vocabulary& ids, size_t vocab_size, uint64_t min_frequency)
      : trained_(trained), ids_(ids), vocab_size_(vocab_size), min_frequency_(min_frequency) {}

  void add_word(std::vector<TokenId> symbols, int64_t count) {
    const auto word = static_cast<uint32_t>(words_.size());
    for (size_t i = 0; i + 1 < symbols.size(); ++i) change({symbols[i], symbols[i + 1]}, count, word);
    words_.push_back({std::move(symbols), count});
  }

  void run() {
    queue_new_pairs();
    while (ids_.size() < vocab_size_ && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const auto count = static_cast<uint64_t>(counts_[top.pair]);
      if (top.count != count) {
        top.count = count;
        queue_.push(top);
        continue;
      }
      if (count < 1 || count < min_frequency_) break;
      merge(top);
    }
  }

 private:
  struct Word {
    std::vector<TokenId> symbols;
    int64_t count;
  };

  void change(Pair pair, int64_t count, uint32_t word) {
    counts_[pair] += count;
    if (count <= 0) return;
    std::vector<uint32_t>& words = seen_in_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }

  void queue_new_pairs() {
    for (auto& [pair, words] : seen_in_) {
      const int64_t count = counts_[pair];
      if (count <= 0) continue;
      queue_.push({static_cast<uint64_t>(count), pair, static_cast<uint32_t>(word_lists_.size())});
      word_lists_.push_back(std::move(words));
    }
    seen_in_.clear();
  }

  void merge(const Candidate& top) {
    const std::string token = trained_.tokens[static_cast<size_t>(top.pair.first)] +
                              trained_.tokens[static_cast<size_t>(top.pair.second)];
    TokenId id = ids_.id_of(token);
    if (id == kNoToken) {
      id = static_cast<TokenId>(trained_.tokens.size());
      trained_.tokens.push_back(token);
      ids_.add(token, id);
    }
    trained_.merges.push_back(top.pair);
    const std::vector<uint32_t> words = std::move(word_lists_[top.words]);
    for (const uint32_t word : words) merge_in(word, top.pair, id);
    queue_new_pairs();
  }

  void merge_in(uint32_t index, Pair pair, TokenId merged) {
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

  TrainedBpe& trained_;
  Vocabulary& ids_;
  size_t vocab_size_;
  uint64_t min_frequency_;
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::vector<uint32_t>, PairHash> seen_in_;  // pairs that are not queued yet
  std::vector<std::vector<uint32_t>> word_lists_;
  std::priority_queue<Candidate, std::vector<Candidate>, MergesLater> queue_;
};

// The bytes in the order of their characters, behind the special tokens.
void add_first_tokens(const std::vector<std::string>& special_tokens, TrainedBpe& trained, Vocabulary& ids) {
  const auto add = [&](const std::string& token) {
    if (ids.id_of(token) != kNoToken) return;
    ids.add(token, static_cast<TokenId>(trained.tokens.size()));
    trained.tokens.push_back(token);
  };
  for (const std::string& token : special_tokens) add(token);
  std::vector<std::pair<char32_t, std::string>> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<uint8_t>(byte);
    alphabet.emplace_back(byte_level_code_point(value), byte_level_character(value));
  }
  std::sort(alphabet.begin(), alphabet.end());
  for (const auto& [code_point, character] : alphabet) add(character);
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainingOptions options) : options_(std::move(options)) {
  const auto least = static_cast<int64_t>(options_.special_tokens.size()) + 256;
  if (options_.vocab_size < least) {
    throw Error(ExitCode::kUsage, "--vocab_size " + std::to_string(options_.vocab_size) + " is too small")
        .why("the special tokens and the 256 bytes alone are " + std::to_string(least));
  }
  for (const std::string& token : options_.special_tokens) {
    if (token.empty())
      throw Error(ExitCode::kUsage, "a special token cannot be empty").where("--special_tokens");
  }
}

void BpeTrainer::add_text(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t end = std::min(text.find('\n', i), text.size() - 1) + 1;
    const std::string_view line = text.substr(i, end - i);
    if (unicode::is_valid(line)) {
      add_line(line);
    } else {
      add_line(unicode::replace_invalid(line));
    }
    i = end;
  }
}

void BpeTrainer::add_line(std::string_view line) {
  split(KnownPattern::kGpt2, line, [this](const char* begin, const char* end) {
    const std::string_view word(begin, static_cast<size_t>(end - begin));
    TokenId index = words_.id_of(word);
    if (index == kNoToken) {
      index = static_cast<TokenId>(counts_.size());
      words_.add(word, index);
      counts_.push_back(0);
    }
    ++counts_[static_cast<size_t>(index)];
  });
}

TrainedBpe BpeTrainer::train() {
  TrainedBpe trained;
  Vocabulary ids;
  add_first_tokens(options_.special_tokens, trained, ids);
  TokenId byte_ids[256];
  for (int byte = 0; byte < 256; ++byte)
    byte_ids[byte] = ids.id_of(byte_level_character(static_cast<uint8_t>(byte)));
  MergeLearner learner(trained, ids, static_cast<size_t>(options_.vocab_size),
                       static_cast<uint64_t>(std::max<int64_t>(options_.min_frequency, 0)));
  for (size_t i = 0; i < counts_.size(); ++i) {
    std::vector<TokenId> symbols;
    for (const char byte : words_.token_of(static_cast<TokenId>(i)))
      symbols.push_back(byte_ids[static_cast<uint8_t>(byte)]);
    learner.add_word(std::move(symbols), counts_[i]);
  }
  learner.run();
  return trained;
}

}  // namespace hftrain::tokenizer
