#include "hftrain/tokenizer/word_level_trainer.h"

#include <algorithm>
#include <numeric>

namespace hftrain::tokenizer {

std::vector<std::string> train_word_level(const WordCounts& words, const WordLevelTrainingOptions& options) {
  std::vector<size_t> order(words.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return words.count(a) != words.count(b) ? words.count(a) > words.count(b) : words.word(a) < words.word(b);
  });
  std::vector<std::string> tokens = options.special_tokens;
  Vocabulary known;
  for (size_t i = 0; i < tokens.size(); ++i) known.add(tokens[i], static_cast<TokenId>(i));
  for (const size_t i : order) {
    if (static_cast<int64_t>(tokens.size()) >= options.vocab_size || words.count(i) < options.min_frequency)
      break;
    if (known.id_of(words.word(i)) == kNoToken) tokens.emplace_back(words.word(i));
  }
  return tokens;
}

}  // namespace hftrain::tokenizer
