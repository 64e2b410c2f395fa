// Machines that are not this one, as `--machines` describes them:
//
//   [MACHINES x] [GPUS x] NAME   [-<n>cores] [-<n>GiB]    GPUs of the table in gpu_models.h
//   [MACHINES x] [GPUS x] <n>GiB [-<n>cores] [-<n>GiB]    GPUs of which only the memory is known
//   [MACHINES x] <n>cores-<n>GiB                          no GPUs: ranks on the CPU
//
// A single number in front of GPUs counts GPUs. GB is 10^9 bytes, GiB 2^30.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/job_agents.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

struct MachineSpec {
  std::string text;  // as it was given
  int machines = 1;
  int gpus = 0;  // of each machine
  std::string gpu_name;
  int64_t gpu_bytes = 0;
  std::optional<std::pair<int, int>> capability;  // unset: not known, taken to be that of Ampere
  int cores = 1;                                  // of each machine
  bool cores_assumed = false;                     // by the number of GPUs
  std::optional<int64_t> host_bytes;              // of each machine; unset: not known
};

// Throws an Error (kUsage) for a text that is none.
MachineSpec parse_machine_spec(const std::string& text);

// One machine of them. `environment` says which of its GPUs are visible and how many threads a rank gets.
Topology topology_of_machine(const MachineSpec& spec, const Environment& environment);

// All machines; `nproc_per_node` is what the run asks for on each.
std::vector<AgentFacts> agents_of(const MachineSpec& spec, const Topology& topology,
                                  const std::optional<std::string>& nproc_per_node);

// Throws an Error (kUsage) when the flags or files of the run are for another number of machines, or give each so many
// ranks that a plan of them all would fill the memory.
void check_machines(const MachineSpec& spec, const arguments::ParseOutcome& parsed);

// What is assumed of these machines, and what of them the run does not use.
std::vector<Diagnostic> notes_of(const MachineSpec& spec, const arguments::ParseOutcome& parsed,
                                 const RunPlan& plan);

}  // namespace hftrain::plan
