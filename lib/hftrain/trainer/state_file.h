// trainer_state.json of a run: our State and the plan's intervals in the shape that transformers reads.
#pragma once

#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/log_history.h"
#include "hftrain/trainer/callback.h"

namespace hftrain::trainer {

inline std::string trainer_state_path(const std::string& checkpoint) {
  return checkpoint + "/trainer_state.json";
}

// `environment`: of this rank, where a search says which of its trials this is.
std::string trainer_state_text(const plan::RunPlan& plan, const State& state,
                               const reporting::LogHistory& history, const Control& control,
                               const Callbacks& callbacks, const Environment& environment);

}  // namespace hftrain::trainer
