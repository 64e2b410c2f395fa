// Third stage: the output folder. Whether the run starts afresh, goes on from a checkpoint, or is refused
// because the folder holds another run. Rules: cli.md section 5 of the contract.
#pragma once

#include <string>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

struct ResumeDecision {
  std::string from;                  // a verified checkpoint folder; empty: start fresh
  std::vector<std::string> notices;  // for people
};

// Reads only. `plan` is resolved for a fresh start; when its data are estimated they are not compared.
// Error(kUsage) when the folder holds another run, Error(kData) when a checkpoint that is asked for cannot be
// used.
ResumeDecision decide_resume(const Inputs& inputs, const plan::RunPlan& plan);

struct TakenFolder {
  storage::RunLock lock;
  std::vector<std::string> lines;  // what was done, for people
};
// Takes the output folder for this run: moved aside when so asked, locked, and cleared of what dead saves
// left.
TakenFolder take_output_folder(const Inputs& inputs);

// Of a node that has an output folder of its own: the plan of node 0, with its folder. Where that plan goes
// on from a checkpoint of the run, this folder must hold the same one; where it begins anew, no other run.
// Error(kData) and Error(kUsage). Verifies all of the checkpoint.
plan::RunPlan plan_for_own_folder(plan::RunPlan plan, const Inputs& inputs);

}  // namespace hftrain::front
