// The README.md of a finished run.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/log_history.h"

namespace hftrain::trainer {

// Whose these parts were, "the program 'mine'"; empty: of the plan.
struct MakersOfParts {
  std::string optimizer, schedule;
};

std::string run_card(const plan::RunPlan& plan, const MakersOfParts& makers,
                     const reporting::LogHistory& history);

}  // namespace hftrain::trainer
