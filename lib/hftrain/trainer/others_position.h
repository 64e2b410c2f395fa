// Where in the data a run of transformers' Trainer was.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/trainer_state.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// From the share of its epoch that it had done. `ranks` are those that it had, 0 when nobody knows: then as many as this run has. That of a stream counts
// all updates which that run was to make; in its first pass it is just their share. `origin` is what messages call the file that `saved` was read from:
// Error(kData) for numbers that no run has.
DataPosition position_in_data(const plan::RunPlan& plan, const reporting::TrainerState& saved, int ranks,
                              const DataPace& pace, const std::string& origin);

}  // namespace hftrain::trainer
