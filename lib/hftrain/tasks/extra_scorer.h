// What --include_for_metrics hands to metrics beside outputs and labels, judged for every task alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/tasks/scorer.h"

namespace hftrain::tasks {

struct ExtraMetrics {
  bool of_inputs = false;  // input_tokens: tokens of all samples, without padding
  bool of_losses = false;  // loss_std: how far the losses of batches lie apart, each counted by its samples
  bool any() const { return of_inputs || of_losses; }
  std::vector<std::string> names() const;
};

// Judges as `scorer` does, and those beside it.
std::unique_ptr<Scorer> with_extra_metrics(std::unique_ptr<Scorer> scorer, const ExtraMetrics& wanted);

}  // namespace hftrain::tasks
