// Tokens that were there become less likely: repetition_penalty, encoder_repetition_penalty and the n-grams that may not
// come twice.
#include <algorithm>
#include <limits>
#include <set>

#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Scores above 0 are divided by it, others multiplied, once however often a token was there.
void penalise(std::span<const int64_t> ids, float penalty, std::span<float> scores) {
  for (const int64_t id : std::set<int64_t>(ids.begin(), ids.end())) {
    float& score = scores[static_cast<size_t>(id)];
    score = score < 0 ? score * penalty : score / penalty;
  }
}

// The ids of a row that a setting looks at: its own or its encoder's.
using IdsOfRow = std::span<const int64_t> RowSoFar::*;

class RepetitionPenalty : public ScoreProcessor {
 public:
  RepetitionPenalty(IdsOfRow ids, double penalty) : ids_(ids), penalty_(static_cast<float>(penalty)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    penalise(row.*ids_, penalty_, scores);
  }

 private:
  IdsOfRow ids_;
  float penalty_;
};

// What followed in `text` after the last size − 1 tokens of `ids` may not follow now.
void ban_followers(std::span<const int64_t> text, std::span<const int64_t> ids, size_t size,
                   std::span<float> scores) {
  if (ids.size() + 1 < size || text.size() < size) return;
  const auto last = ids.last(size - 1);
  for (size_t start = 0; start + size <= text.size(); ++start) {
    if (std::ranges::equal(text.subspan(start, size - 1), last))
      scores[static_cast<size_t>(text[start + size - 1])] = kNever;
  }
}

class NoRepeatedNgram : public ScoreProcessor {
 public:
  NoRepeatedNgram(IdsOfRow ids, int64_t size) : ids_(ids), size_(static_cast<size_t>(size)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    ban_followers(row.*ids_, row.ids, size_, scores);
  }

 private:
  IdsOfRow ids_;
  size_t size_;
};

}  // namespace

void add_penalties(const GenerationConfig& config, ScoreProcessors& to) {
  // A penalty above 1 makes the tokens of the source more likely: it is applied upside down.
  const double of_encoder = config.encoder_repetition_penalty, own = config.repetition_penalty;
  if (of_encoder != 1)
    to.push_back(std::make_unique<RepetitionPenalty>(&RowSoFar::encoder_ids, 1 / of_encoder));
  if (own != 1) to.push_back(std::make_unique<RepetitionPenalty>(&RowSoFar::ids, own));
}

void add_repeated_ngrams(const GenerationConfig& config, ScoreProcessors& to) {
  const int64_t own = config.no_repeat_ngram_size, of_encoder = config.encoder_no_repeat_ngram_size;
  if (own > 0) to.push_back(std::make_unique<NoRepeatedNgram>(&RowSoFar::ids, own));
  if (of_encoder > 0) to.push_back(std::make_unique<NoRepeatedNgram>(&RowSoFar::encoder_ids, of_encoder));
}

}  // namespace hftrain::generation
