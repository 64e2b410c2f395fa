// The README.md of a finished run.
#pragma once

#include <string>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/log_history.h"

namespace hftrain::trainer {

std::string run_card(const plan::RunPlan& plan, const reporting::LogHistory& history);

}  // namespace hftrain::trainer
