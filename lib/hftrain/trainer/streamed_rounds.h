// The rounds of training data that are read while training: blocks of the stream's samples, in their order.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hftrain/comm/communicator.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/round_source.h"

namespace hftrain::trainer {

// `plan` has a stream; it and the communicator outlive what is returned. `tell` gets what users should know of the rows,
// once. Where ranks read files of their own (StreamSpec::by_files), at_end() is collective: who is through with its files
// goes on with its first samples until all are, or with drop_last all end with the first.
// Reads nothing before the first question.
std::unique_ptr<RoundSource> streamed_rounds(const plan::RunPlan& plan, comm::Communicator& communicator,
                                             Reads reads, std::function<void(const std::string&)> tell);

// How many ranks read files of their own; 0: all that read see all of the data.
int ranks_with_files(const plan::RunPlan& plan);
// Such a place in the data, of a run with `saved` of them, means something to that many alone: Error (exit code 2).
void check_ranks_with_files(const plan::RunPlan& plan, int saved);

}  // namespace hftrain::trainer
