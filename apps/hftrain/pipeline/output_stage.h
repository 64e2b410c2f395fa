// Third stage: the output folder. Whether the run starts afresh, goes on from a checkpoint, or is refused
// because the folder holds another run. Rules: cli.md section 5 of the contract.
#pragma once

#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "pipeline/inputs.h"

namespace hftrain::app {

struct ResumeDecision {
  std::string from;                  // a verified checkpoint folder; empty: start fresh
  std::vector<std::string> notices;  // for people
};

// Reads only. `plan` is resolved for a fresh start; when its data are estimated they are not compared.
// Error(kUsage) when the folder holds another run, Error(kData) when a checkpoint that is asked for cannot be
// used.
ResumeDecision decide_resume(const Inputs& inputs, const plan::RunPlan& plan);

}  // namespace hftrain::app
