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

class RepetitionPenalty : public ScoreProcessor {
 public:
  explicit RepetitionPenalty(double penalty) : penalty_(static_cast<float>(penalty)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    penalise(row.ids, penalty_, scores);
  }

 private:
  float penalty_;
};

// A penalty above 1 makes the tokens of the source more likely: it is applied upside down.
class EncoderRepetitionPenalty : public ScoreProcessor {
 public:
  explicit EncoderRepetitionPenalty(double penalty) : penalty_(static_cast<float>(1 / penalty)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    penalise(row.encoder_ids, penalty_, scores);
  }

 private:
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
  explicit NoRepeatedNgram(int64_t size) : size_(static_cast<size_t>(size)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    ban_followers(row.ids, row.ids, size_, scores);
  }

 private:
  size_t size_;
};

class NoNgramOfEncoder : public ScoreProcessor {
 public:
  explicit NoNgramOfEncoder(int64_t size) : size_(static_cast<size_t>(size)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    ban_followers(row.encoder_ids, row.ids, size_, scores);
  }

 private:
  size_t size_;
};

}  // namespace

void add_penalties(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.encoder_repetition_penalty != 1)
    to.push_back(std::make_unique<EncoderRepetitionPenalty>(config.encoder_repetition_penalty));
  if (config.repetition_penalty != 1)
    to.push_back(std::make_unique<RepetitionPenalty>(config.repetition_penalty));
}

void add_repeated_ngrams(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.no_repeat_ngram_size > 0)
    to.push_back(std::make_unique<NoRepeatedNgram>(config.no_repeat_ngram_size));
  if (config.encoder_no_repeat_ngram_size > 0)
    to.push_back(std::make_unique<NoNgramOfEncoder>(config.encoder_no_repeat_ngram_size));
}

}  // namespace hftrain::generation
