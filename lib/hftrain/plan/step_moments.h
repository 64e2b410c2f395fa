// What a training step holds at each of its moments beside parameters and optimizer state: what forward keeps goes as backward comes
// through the blocks, and gradients come in its place.
#pragma once

#include <cstdint>
#include <vector>

#include "hftrain/architectures/architecture.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Of one block, in bytes.
struct BlockMemory {
  int64_t kept = 0;      // from its forward pass to the end of its backward pass
  int64_t backward = 0;  // beside that while backward is in it: gradients, and what is computed again
  int64_t whole = 0;     // the same with gradients of all that is kept, as if it did not go meanwhile
};

// Of one micro-batch, in bytes.
struct StepActivations {
  std::vector<BlockMemory> blocks;  // in forward order
  int64_t ends = 0;  // what goes into stacks and comes out of them, and what all blocks share; to the end
  int64_t head = 0;  // while the loss is computed: the head's, and what of it is handed on
};

// The most that is there at once where nothing is said of gradients, with room for a head and a block's backward pass together: what a
// host's allocator comes to, which keeps blocks of either for the next step.
int64_t activations_together(const StepActivations& step);

// What of the training state comes and goes with them, in bytes where the rank computes.
struct StepState {
  int64_t gradients = 0;  // all that stay at the end of a pass
  int64_t casts = 0;      // weights in the type of the forward pass, which go as backward comes through
  int64_t update = 0;     // what the optimizer takes beside all gradients
};

// The most that is there at a time, as a device's allocator counts it.
struct StepPeak {
  int64_t activations = 0;  // alone
  int64_t at_once = 0;      // with gradients and casts; at least the gradients
  int64_t between = 0;      // gradients that stay between updates
};

// Reads plan.model, batch, strategy and ranks.
StepPeak step_peak(const StepActivations& step, const architectures::ParameterTable& table,
                   const RunPlan& plan, const StepState& state);

}  // namespace hftrain::plan
