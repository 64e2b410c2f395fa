#include "hftrain/tokenizer/word_piece_trainer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hftrain/tokenizer/merge_learner.h"
#include "hftrain/tokenizer/unicode/utf8.h"

namespace hftrain::tokenizer {
namespace {

template <typename Use>
void for_each_character(std::string_view word, Use use) {
  for (size_t i = 0, size; i < word.size(); i += size) {
    size = unicode::size_of(word[i]);
    use(word.substr(i, size), i == 0);
  }
}

// UTF-8 sorts as code points do.
std::vector<std::string> alphabet_of(const WordCounts& words, int64_t limit) {
  std::map<std::string, int64_t, std::less<>> counts;
  for (size_t i = 0; i < words.size(); ++i) {
    for_each_character(words.word(i), [&](std::string_view character, bool) {
      auto entry = counts.find(character);
      if (entry == counts.end()) entry = counts.emplace(character, 0).first;
      entry->second += words.count(i);
    });
  }
  std::vector<std::pair<std::string, int64_t>> kept(counts.begin(), counts.end());
  if (limit > 0 && static_cast<int64_t>(kept.size()) > limit) {
    std::stable_sort(kept.begin(), kept.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    kept.resize(static_cast<size_t>(limit));
    std::sort(kept.begin(), kept.end());
  }
  std::vector<std::string> alphabet;
  for (auto& [character, count] : kept) alphabet.push_back(std::move(character));
  return alphabet;
}

// Tokens with their ids, in the making.
struct TokenList {
  std::vector<std::string> tokens;
  Vocabulary ids;

  TokenId id_of(const std::string& token) {
    TokenId id = ids.id_of(token);
    if (id != kNoToken) return id;
    id = static_cast<TokenId>(tokens.size());
    ids.add(token, id);
    tokens.push_back(token);
    return id;
  }
};

// A character that is not in the alphabet vanishes from its word.
std::vector<TokenId> spell(std::string_view word, const std::string& prefix, TokenList& list) {
  std::vector<TokenId> symbols;
  for_each_character(word, [&](std::string_view character, bool is_first) {
    if (list.ids.id_of(character) == kNoToken) return;
    symbols.push_back(list.id_of((is_first ? "" : prefix) + std::string(character)));
  });
  return symbols;
}

}  // namespace

std::vector<std::string> train_word_piece(const WordCounts& words, const WordPieceTrainingOptions& options) {
  TokenList list;
  for (const std::string& token : options.special_tokens) list.id_of(token);
  for (const std::string& character : alphabet_of(words, options.limit_alphabet)) list.id_of(character);
  std::vector<std::vector<TokenId>> spelled;
  spelled.reserve(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    spelled.push_back(spell(words.word(i), options.continuing_prefix, list));
  MergeLearner learner(std::move(list.tokens), options.continuing_prefix);
  for (size_t i = 0; i < words.size(); ++i) learner.add_word(std::move(spelled[i]), words.count(i));
  return learner.run(static_cast<size_t>(options.vocab_size), options.min_frequency).tokens;
}

}  // namespace hftrain::tokenizer
