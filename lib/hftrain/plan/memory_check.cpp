// Whether the memory of machines and GPUs can hold a run.
#include <algorithm>
#include <cstdio>

#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// Always in GiB, so that what is needed and what is there can be compared at a glance.
std::string gib(int64_t count) {
  const double amount = static_cast<double>(std::max<int64_t>(count, 0)) / static_cast<double>(1 << 30);
  char text[32];
  std::snprintf(text, sizeof(text), amount < 1 ? "%.3f GiB" : "%.1f GiB", amount);
  return text;
}

// `where` is the memory that does not do: of a machine, or of a GPU.
Diagnostic too_large(const std::string& what, const std::string& where, const std::string& why,
                     const std::string& hint) {
  return {Diagnostic::Severity::kError, what, where, why, hint};
}

// What certainly must be there, in this rank's memory and in the machine's.
struct NeededMemory {
  int64_t device = 0;  // 0 on the CPU
  int64_t machine = 0;
};

NeededMemory needed_memory(const RunPlan& plan) {
  const MemoryPlan& memory = plan.memory_per_rank;
  const int64_t state = memory.parameters + memory.gradients + memory.optimizer;
  const bool gpu = on_gpu(plan.ranks);
  return {gpu ? state - memory.host : 0,
          (kProgramBytes + (gpu ? memory.host : state)) * plan.ranks.ranks_on_machine +
              background_copies(plan).machine};
}

// What a rank needs by kind, for the reason of a refusal.
std::string needs_by_kind(const MemoryPlan& memory) {
  return "parameters " + gib(memory.parameters) + ", gradients " + gib(memory.gradients) + ", optimizer " +
         gib(memory.optimizer);
}

// Of a rank on the host; what it has on a GPU is counted there.
std::string needs_of_host(const MemoryPlan& memory, bool gpu) {
  const std::string program = "the program itself " + gib(kProgramBytes) + ", ";
  return program + (gpu ? "offloaded state " + gib(memory.host) : needs_by_kind(memory));
}

// A plan for machines that are not this one is refused for what a run there would end with.
ExitCode code_of(const ResolveInput& input, ExitCode of_a_run) {
  return input.elsewhere ? ExitCode::kUsage : of_a_run;
}

void check_host_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const int64_t host = input.topology.host.usable_memory_bytes(), needed = needed_memory(plan).machine;
  if (host <= 0 || needed <= host) return;
  const int64_t copied = background_copies(plan).machine;
  const std::string copies = copied > 0 ? "; --async_save keeps copies of " + gib(copied) : "";
  problems.add(
      code_of(input, ExitCode::kHostMemory),
      too_large("the model and its training state need " + gib(needed) + " of host memory, of " + gib(host),
                input.elsewhere ? "--machines" : "the host memory of this machine",
                needs_of_host(plan.memory_per_rank, on_gpu(plan.ranks)) + ", for each of " +
                    std::to_string(plan.ranks.ranks_on_machine) + " ranks" + copies,
                plan.strategy.sharded()
                    ? "a smaller model, or offload to NVMe"
                    : "a smaller model, fewer ranks, or --fsdp \"full_shard auto_wrap\""));
}

void check_device_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const int64_t needed = needed_memory(plan).device;
  for (const RankPlan& rank : plan.ranks.ranks) {
    const VisibleDevices& visible = topology_of(input, rank).visible;
    const CudaDevice& device = visible.devices[static_cast<size_t>(rank.ordinal)].device;
    if (device.total_bytes <= 0 || needed <= device.total_bytes) continue;
    problems.add(code_of(input, ExitCode::kDeviceMemory),
                 too_large("the model and its training state need " + gib(needed) + ", and GPU " +
                               std::to_string(device.index) + " has " + gib(device.total_bytes),
                           input.elsewhere ? "--machines" : "rank " + std::to_string(rank.rank),
                           needs_by_kind(plan.memory_per_rank),
                           plan.strategy.sharded()
                               ? "a smaller model, more GPUs, or offload: --fsdp \"full_shard offload\""
                               : "a smaller model, or --fsdp \"full_shard auto_wrap\""));
    return;
  }
}

// Of machines that are not this one nobody can try whether an estimate holds, so one that is far beyond what
// is there is refused.
void check_expected_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  constexpr double kFarBeyond = 1.1;
  const MemoryPlan& memory = plan.memory_per_rank;
  const bool gpu = on_gpu(plan.ranks);
  const int64_t there =
      gpu ? input.topology.visible.devices.front().device.total_bytes
          : input.topology.host.usable_memory_bytes() / std::max(1, plan.ranks.ranks_on_machine);
  const int64_t expected = expected_memory(plan).rank;
  if (there <= 0 || static_cast<double>(expected) <= kFarBeyond * static_cast<double>(there)) return;
  problems.add(
      ExitCode::kUsage,
      too_large("a rank is expected to need " + gib(expected) + ", and " +
                    (gpu ? "a GPU has " : "its part of the machine is ") + gib(there),
                "--machines",
                "the program itself " + gib(gpu ? device_program_bytes(plan) : kWorkingProgramBytes) + ", " +
                    needs_by_kind(memory) + ", activations " + gib(memory.activations) + ", buffers " +
                    gib(memory.buffers) +
                    (memory.reused > 0 ? ", of it " + gib(memory.reused) + " in the place of others" : ""),
                way_to_need_less(plan.ranks)));
}

}  // namespace

void check_memory(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  check_host_memory(input, plan, problems);
  if (on_gpu(plan.ranks)) check_device_memory(input, plan, problems);
  if (input.elsewhere && problems.none()) check_expected_memory(input, plan, problems);
}

}  // namespace hftrain::plan
