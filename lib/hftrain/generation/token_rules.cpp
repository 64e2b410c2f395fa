// Tokens that must or must not come: biased and bad sequences, ends before their time, forced and suppressed ones.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hftrain/generation/score_processor.h"

namespace hftrain::generation {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

void forbid(const Ids& ids, std::span<float> scores) {
  for (const int64_t id : ids) scores[static_cast<size_t>(id)] = kImpossible;
}

void force(const Ids& ids, std::span<float> scores) {
  std::ranges::fill(scores, kImpossible);
  for (const int64_t id : ids) scores[static_cast<size_t>(id)] = 0;
}

// The last token of a sequence gets its bias where the row ends with those before it.
class SequenceBias : public ScoreProcessor {
 public:
  explicit SequenceBias(std::vector<std::pair<Ids, double>> biases) : biases_(std::move(biases)) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    for (const auto& [sequence, bias] : biases_) {
      const size_t before = sequence.size() - 1;
      if (before > 0 && sequence.size() > row.ids.size()) continue;
      if (std::ranges::equal(row.ids.last(before), std::span(sequence).first(before)))
        scores[static_cast<size_t>(sequence.back())] += static_cast<float>(bias);
    }
  }

 private:
  std::vector<std::pair<Ids, double>> biases_;
};

class NoEndBefore : public ScoreProcessor {
 public:
  explicit NoEndBefore(const GenerationConfig& config) : config_(config) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    if (row.generated() < config_.least_new_tokens(static_cast<int64_t>(row.prompt)))
      forbid(config_.eos_token_id, scores);
  }

 private:
  GenerationConfig config_;
};

class ForcedFirst : public ScoreProcessor {
 public:
  explicit ForcedFirst(int64_t id) : ids_{id} {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    if (row.ids.size() == 1) force(ids_, scores);
  }

 private:
  Ids ids_;
};

class ForcedLast : public ScoreProcessor {
 public:
  explicit ForcedLast(const GenerationConfig& config) : config_(config) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    if (row.generated() == config_.most_new_tokens(static_cast<int64_t>(row.prompt)) - 1)
      force(config_.forced_eos_token_id, scores);
  }

 private:
  GenerationConfig config_;
};

class ValueRepair : public ScoreProcessor {
 public:
  void apply(const RowSoFar&, std::span<float> scores) const override {
    for (float& score : scores) {
      if (std::isnan(score)) score = 0;
      score = std::clamp(score, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
    }
  }
};

class EndBecomesLikelier : public ScoreProcessor {
 public:
  EndBecomesLikelier(Ids ends, const LengthDecay& decay) : ends_(std::move(ends)), decay_(decay) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    const int64_t over = row.generated() - decay_.start;
    if (over <= 0) return;
    const auto growth = static_cast<float>(std::pow(decay_.factor, static_cast<double>(over)) - 1);
    for (const int64_t id : ends_) {
      float& score = scores[static_cast<size_t>(id)];
      if (std::isfinite(score)) score += std::abs(score) * growth;  // one that may not come stays away
    }
  }

 private:
  Ids ends_;
  LengthDecay decay_;
};

class Suppressed : public ScoreProcessor {
 public:
  explicit Suppressed(Ids ids) : ids_(std::move(ids)) {}
  void apply(const RowSoFar&, std::span<float> scores) const override { forbid(ids_, scores); }

 private:
  Ids ids_;
};

// At the first token, or the one after a forced first one.
class SuppressedAtBegin : public ScoreProcessor {
 public:
  SuppressedAtBegin(Ids ids, bool after_forced) : ids_(std::move(ids)), after_forced_(after_forced) {}
  void apply(const RowSoFar& row, std::span<float> scores) const override {
    const int64_t place = after_forced_ && row.prompt <= 1 ? 1 : 0;
    if (row.generated() == place) forbid(ids_, scores);
  }

 private:
  Ids ids_;
  bool after_forced_;
};

}  // namespace

void add_sequence_biases(const GenerationConfig& config, ScoreProcessors& to) {
  if (!config.sequence_bias.empty()) to.push_back(std::make_unique<SequenceBias>(config.sequence_bias));
}

void add_length_rules(const GenerationConfig& config, ScoreProcessors& to) {
  // The end of a text is no bad word, whoever says so.
  std::vector<std::pair<Ids, double>> bad;
  for (const Ids& word : config.bad_words_ids) {
    const bool is_end =
        word.size() == 1 && std::ranges::find(config.eos_token_id, word[0]) != config.eos_token_id.end();
    if (!is_end) bad.emplace_back(word, kImpossible);
  }
  if (!bad.empty()) to.push_back(std::make_unique<SequenceBias>(std::move(bad)));
  if (!config.eos_token_id.empty() && (config.min_length > 0 || config.min_new_tokens))
    to.push_back(std::make_unique<NoEndBefore>(config));
}

void add_forced_tokens(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.forced_bos_token_id) to.push_back(std::make_unique<ForcedFirst>(*config.forced_bos_token_id));
  if (!config.forced_eos_token_id.empty()) to.push_back(std::make_unique<ForcedLast>(config));
}

void add_value_repair(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.remove_invalid_values) to.push_back(std::make_unique<ValueRepair>());
}

void add_length_decay(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.exponential_decay_length_penalty && !config.eos_token_id.empty())
    to.push_back(
        std::make_unique<EndBecomesLikelier>(config.eos_token_id, *config.exponential_decay_length_penalty));
}

void add_suppressed_tokens(const GenerationConfig& config, ScoreProcessors& to) {
  if (!config.suppress_tokens.empty()) to.push_back(std::make_unique<Suppressed>(config.suppress_tokens));
  if (!config.begin_suppress_tokens.empty())
    to.push_back(std::make_unique<SuppressedAtBegin>(config.begin_suppress_tokens,
                                                     config.forced_bos_token_id.has_value()));
}

}  // namespace hftrain::generation
