// Unigram: of all ways to spell a piece with tokens the one whose scores (logarithms of probabilities) add up
// to the most. Kudo 2018 (arXiv:1804.10959), with the rules of the PyPI `tokenizers` package where ways tie
// and where a character is in no token.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "hftrain/tokenizer/model.h"
#include "hftrain/tokenizer/token_trie.h"

namespace hftrain::tokenizer {

constexpr double kUnknownPenalty = 10;  // so far below the lowest score is that of an unknown character

class UnigramModel : public Model {
 public:
  // `scores` by id, one for each of `vocabulary`'s ids. `unknown_id` stands for characters that no token is;
  // neighbours of them become one unknown, or with `byte_fallback` the <0xNN> tokens of their bytes.
  UnigramModel(Vocabulary vocabulary, std::vector<double> scores, std::optional<TokenId> unknown_id,
               bool byte_fallback);

  // Throws Error (exit code 4) for an unknown character when there is no unknown token.
  void tokenize(std::string_view piece, std::vector<ModelToken>& tokens) const override;
  // An unknown is called what stands in the text.
  std::string_view token_text(const ModelToken& token, std::string_view piece) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  // The best way to spell what ends at a byte: its last token.
  struct Arrival {
    double score;
    uint32_t begin;  // kNever while there is none
    TokenId id;
  };
  static constexpr uint32_t kNever = UINT32_MAX;

  // Of every place in `piece` and its end.
  void find_best_arrivals(std::string_view piece, std::span<Arrival> best) const;
  void append_best(std::string_view piece, std::span<Arrival> best, std::vector<ModelToken>& tokens) const;
  void spell_unknown(std::string_view piece, size_t from, std::vector<ModelToken>& tokens) const;
  void append_unknown(std::string_view piece, uint32_t begin, uint32_t end,
                      std::vector<ModelToken>& tokens) const;
  bool knows_bytes(std::string_view text) const;

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  TokenTrie trie_;
  TokenId unknown_id_;
  double unknown_score_;
  TokenId fallback_ids_[256];
};

}  // namespace hftrain::tokenizer
