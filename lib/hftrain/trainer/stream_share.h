// What each rank reads of a stream: all of the data, or files of its own.
#pragma once

#include "hftrain/comm/communicator.h"
#include "hftrain/data/stream_reading.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::trainer {

// Of this rank; `plan` has a stream. Loads the tokenizer.
data::StreamSource source_of_rank(const plan::RunPlan& plan, const comm::Communicator& communicator);

// How many ranks read files of their own; 0: all that read see all of the data.
int ranks_with_files(const plan::RunPlan& plan);
// A place in the data of a run with `saved` of them means something to that many alone: Error (exit code 2).
void check_ranks_with_files(const plan::RunPlan& plan, int saved);

}  // namespace hftrain::trainer
