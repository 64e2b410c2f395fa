#include "hftrain/generation/score_processor.h"

#include "hftrain/generation/probabilities.h"

namespace hftrain::generation {
namespace {

class Renormalisation : public ScoreProcessor {
 public:
  void apply(const RowSoFar&, std::span<float> scores) const override { log_softmax(scores); }
};

}  // namespace

void add_renormalisation(const GenerationConfig& config, ScoreProcessors& to) {
  if (config.renormalize_logits) to.push_back(std::make_unique<Renormalisation>());
}

// The order is that of transformers' _get_logits_processor: processors do not commute.
ScoreProcessors make_score_processors(const GenerationConfig& config) {
  ScoreProcessors processors;
  add_sequence_biases(config, processors);
  add_penalties(config, processors);
  add_repeated_ngrams(config, processors);
  add_length_rules(config, processors);
  add_forced_tokens(config, processors);
  add_value_repair(config, processors);
  add_length_decay(config, processors);
  add_suppressed_tokens(config, processors);
  if (config.do_sample) add_samplers(config, processors);
  add_renormalisation(config, processors);
  return processors;
}

void apply_all(const ScoreProcessors& processors, const RowSoFar& row, std::span<float> scores) {
  for (const auto& processor : processors) processor->apply(row, scores);
}

}  // namespace hftrain::generation
