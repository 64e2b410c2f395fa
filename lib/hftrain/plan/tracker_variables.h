// Variables of the environment that trackers of --report_to read, WANDB_*, MLFLOW_* and TRACKIO_*, as their packages
// have them.
#pragma once

#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/plan/problems.h"

namespace hftrain::plan {

// Those of `asked` that no variable turns off (WANDB_MODE=disabled, WANDB_DISABLED,
// DISABLE_MLFLOW_INTEGRATION).
std::vector<std::string> running_trackers(const std::vector<std::string>& asked,
                                          const Environment& environment);

// What a tracker could not write with these variables.
void check_trackers(const std::vector<std::string>& asked, const Environment& environment,
                    Problems& problems);

// Which of the variables act on the trackers that were asked for, and which cannot. `run_name`: of the run, which counts
// before WANDB_NAME; empty: it has none.
void note_trackers(const std::vector<std::string>& asked, const std::string& run_name,
                   const Environment& environment, std::vector<Diagnostic>& notes);

}  // namespace hftrain::plan
