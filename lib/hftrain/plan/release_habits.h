// What transformers did up to some release and does no more (docs/compatibility.md), as questions to the
// release of a plan. Named by the first release without the habit: any patch of those before has it.
#pragma once

#include <cstdint>
#include <string>

namespace hftrain::plan {

struct ReleaseHabits {
  int64_t release;  // of RunPlan

  // An epoch's updates were counted without its last incomplete group.
  bool floors_updates() const { return release < 45200; }
  // Causal losses were divided by all labels, those of first positions too, which no prediction is made for.
  bool counts_first_labels() const { return release < 51000; }
  // A smoothed causal loss was divided by the labels that are predicted, whoever counted others.
  bool smooths_over_predicted() const { return release < 51700; }
  // Four decimals of the loss in records.
  bool rounds_losses() const { return release < 50000; }
  // A tokenizer gave types of tokens whatever its class, unless its files said otherwise.
  bool gives_types_with_every_tokenizer() const { return release < 50000; }
  // Norms that are no LayerNorm decayed where a family had not put its own class on a list.
  bool decays_unlisted_norms() const { return release < 44900; }
  // The rate in records was that after the schedule's step.
  bool logs_next_rate() const { return release < 45100; }
  // The gradient norm was measured where it was clipped, and only there.
  bool measures_norm_only_to_clip() const { return release < 50300; }
  // With the strategy steps the last update was evaluated on a multiple alone.
  bool evaluates_multiples_only() const { return release < 50400; }
  // Evaluation had no count of labels: each batch gave the mean of its own.
  bool evaluates_batch_means() const { return release < 45700; }
  // Whether the last update is saved under a strategy whatever its number is. Where that is `epoch`, its epoch ends behind it, which was
  // then saved over the first time, with its log and evaluation.
  bool saves_last_update(const std::string& strategy) const {
    return strategy == "steps" || (strategy == "best" && release < 44700);
  }
};

}  // namespace hftrain::plan
