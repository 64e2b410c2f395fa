// What is done to the scores of the next token before one is chosen: penalties, tokens that must or must not come,
// and, for sampling, which of them may be drawn. Each as transformers' processor of the same name has it, in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hftrain/generation/generation_config.h"

namespace hftrain::generation {

// One row that is being written. Padding is no part of it: what becomes of a row does not depend on the others of its
// batch. (transformers' processors see the padding of a batch too.)
struct RowSoFar {
  std::span<const int64_t> ids;  // prompt and what was generated; of an encoder-decoder what its decoder read
  size_t prompt = 0;             // how many of them are the prompt
  std::span<const int64_t> encoder_ids;  // what the encoder read; empty for decoders

  int64_t generated() const { return static_cast<int64_t>(ids.size() - prompt); }
};

// Holds settings only: one serves all rows, from one thread.
class ScoreProcessor {
 public:
  virtual ~ScoreProcessor() = default;
  // scores [vocabulary]; a token that may not come gets −∞.
  virtual void apply(const RowSoFar& row, std::span<float> scores) const = 0;
};

using ScoreProcessors = std::vector<std::unique_ptr<ScoreProcessor>>;

// All that the config asks for, in transformers' order: penalties and restrictions, then, where it samples, what keeps
// tokens from being drawn, then renormalisation.
ScoreProcessors make_score_processors(const GenerationConfig& config);

void apply_all(const ScoreProcessors& processors, const RowSoFar& row, std::span<float> scores);

// The makers of each file; a setting that does nothing adds none.
void add_penalties(const GenerationConfig& config, ScoreProcessors& to);
void add_repeated_ngrams(const GenerationConfig& config, ScoreProcessors& to);
void add_sequence_biases(const GenerationConfig& config, ScoreProcessors& to);
void add_length_rules(const GenerationConfig& config, ScoreProcessors& to);
void add_forced_tokens(const GenerationConfig& config, ScoreProcessors& to);
void add_value_repair(const GenerationConfig& config, ScoreProcessors& to);
void add_length_decay(const GenerationConfig& config, ScoreProcessors& to);
void add_suppressed_tokens(const GenerationConfig& config, ScoreProcessors& to);
void add_samplers(const GenerationConfig& config, ScoreProcessors& to);
void add_renormalisation(const GenerationConfig& config, ScoreProcessors& to);

}  // namespace hftrain::generation
