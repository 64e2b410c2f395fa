// The rounds of training data that are read while training: blocks of the stream's samples, in their order.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hftrain/comm/communicator.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/data_wait.h"
#include "hftrain/trainer/round_source.h"

namespace hftrain::trainer {

// What a stream of rounds has of the rank that reads it.
struct StreamSurroundings {
  std::shared_ptr<const DataWait> wait;
  std::function<void(const std::string&)> tell;  // what users should know of the rows
};

// `plan` has a stream; it and the communicator outlive what is returned, which reads nothing before the first question.
std::unique_ptr<RoundSource> streamed_rounds(const plan::RunPlan& plan, comm::Communicator& communicator,
                                             Reads reads, StreamSurroundings surroundings);

// The same where ranks read files of their own (StreamSpec::by_files). left() is collective: who is through with its files
// goes on with its first samples until all are, or with drop_last all end with the first.
std::unique_ptr<RoundSource> rounds_of_own_files(const plan::RunPlan& plan, comm::Communicator& communicator,
                                                 StreamSurroundings surroundings);

// How much of an epoch of a stream lies before a position, as in the Trainer: for it an epoch without a length has all
// updates of the run.
double share_of_stream(const plan::RunPlan& plan, const DataPosition& position);
// The samples of a batch or more that are read ahead.
int64_t samples_ahead(const plan::RunPlan& plan, int64_t round);

}  // namespace hftrain::trainer
