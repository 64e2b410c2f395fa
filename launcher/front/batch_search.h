// --auto_find_batch_size: a run that ran out of memory is started again with a smaller micro-batch, 0.9 of the
// last one, rounded down (the factor of accelerate 1.15). All its ranks are new processes, so that any strategy
// can be rebuilt, and what is left of the old ones is in nobody's way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

// A rank's device or its host had no memory left (exit codes 5 and 6) while it trained: not while the model was
// loaded, nor after the last update, where no smaller batch helps, and not in a job that was asked to stop or has
// lost a node.
bool trained_out_of_memory(const launcher::JobResult& result, const plan::RunPlan& plan);

// The micro-batch to try after that of `plan`; 0: there is none. With split_batches a multiple of the ranks.
int64_t smaller_batch(const plan::RunPlan& plan);

// Moves the checkpoints of attempts that are given up, as far as they are still there, to
// OUTPUT_DIR/hftrain/given_up/batch-N/, so that no later run goes on from them; to batch-N.2/ and so on where an
// earlier search has left that folder, of which nothing is removed. Returns the folder; empty when there were none.
std::string set_aside(const std::vector<std::string>& checkpoints, const plan::RunPlan& plan);

}  // namespace hftrain::front
