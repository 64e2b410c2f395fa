// Which sampler a split gets, from the plan.
#pragma once

#include "hftrain/comm/communicator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/data/samplers.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::trainer {

// Of this rank. Lengths are read where the order looks at them.
data::SamplerOptions training_sampler(const plan::RunPlan& plan, const comm::Communicator& communicator,
                                      const data::Dataset& split);

// In the order of the rows; with group_by_length grouped, always in the same way, as the Trainer evaluates then.
data::SamplerOptions evaluation_sampler(const plan::RunPlan& plan, const comm::Communicator& communicator,
                                        const data::Dataset& split);

}  // namespace hftrain::trainer
