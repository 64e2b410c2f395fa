// The README.md of a finished run.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

std::string run_card(const plan::RunPlan& plan, const State& state);

}  // namespace hftrain::trainer
