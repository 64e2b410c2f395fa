// Bytes a run needs. Parameters, gradients and optimizer state are exact; activations are an estimate; disk counts what a
// checkpoint holds.
#include <algorithm>

#include "hftrain/plan/budget_parts.h"
#include "hftrain/plan/disk_check.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/text_table.h"

namespace hftrain::plan {
namespace {

int64_t saves_of_run(const RunPlan& plan) {
  const IntervalPlan& interval = plan.saving.interval;
  // An epoch has an update at least; of a stream nobody knows how many.
  if (interval.strategy == "epoch") return std::min(plan.steps.epochs, plan.steps.max_steps);
  if (interval.strategy == "best") return 1;
  if (interval.strategy != "steps" || plan.steps.max_steps <= 0) return 0;
  if (interval.steps <= 0) return 1;  // the last update saves, too
  return (plan.steps.max_steps + interval.steps - 1) / interval.steps;
}

// What activations, gradients and buffers take at once, or an evaluation in their place. Both set what the step keeps.
int64_t at_once_on_host(const StepActivations& step, MemoryPlan& memory) {
  memory.activations = activations_together(step);
  return memory.gradients + memory.buffers + std::max(memory.activations, memory.evaluation);
}

int64_t at_once_on_gpu(const StepActivations& step, const architectures::ParameterTable& table,
                       const RunPlan& plan, const RankMemory& bytes, MemoryPlan& memory) {
  const int64_t casts = plan.strategy.sharded() ? 0 : bytes.gathered, staying = memory.buffers - casts;
  const StepState state{
      .gradients = memory.gradients - bytes.gradients_on_host, .casts = casts, .update = bytes.update};
  const StepPeak peak = step_peak(step, table, plan, state);
  memory.activations = peak.activations;
  const int64_t evaluating = peak.between + casts + memory.evaluation;
  return std::max(peak.at_once, evaluating) + bytes.gradients_on_host + staying;
}

}  // namespace

MemoryPlan estimate_memory(const architectures::Architecture& architecture, const RunPlan& plan,
                           bool widens_bfloat16) {
  const RankMemory bytes = rank_memory(architecture.parameters(), plan);
  MemoryPlan memory;
  memory.parameters = bytes.parameters;
  memory.gradients = bytes.gradients;
  memory.optimizer = bytes.optimizer;
  memory.buffers = bytes.gathered + bytes.nvme_staging;
  memory.host = bytes.on_host;
  memory.saving = bytes.saving;
  memory.evaluation = evaluation_bytes(architecture, plan);
  int64_t at_once = memory.buffers + memory.evaluation;
  if (plan.do_train) {
    const StepActivations step = step_activations(architecture, plan, widens_bfloat16);
    at_once = on_gpu(plan.ranks) ? at_once_on_gpu(step, architecture.parameters(), plan, bytes, memory)
                                 : at_once_on_host(step, memory);
  }
  memory.total = memory.parameters + memory.optimizer + at_once;
  memory.reused =
      memory.gradients + memory.buffers + std::max(memory.activations, memory.evaluation) - at_once;
  return memory;
}

DiskPlan estimate_disk(const architectures::Architecture& architecture, const RunPlan& plan,
                       std::optional<uint64_t> free_bytes) {
  const architectures::ParameterTable& table = architecture.parameters();
  DiskPlan disk;
  disk.free_bytes = free_bytes ? static_cast<int64_t>(*free_bytes) : -1;
  const RankMemory rank = rank_memory(table, plan);
  disk.nvme_bytes = (rank.parameters_on_nvme + rank.optimizer_on_nvme) * plan.ranks.ranks_on_machine;
  const int64_t weights = weights_bytes(table, plan);
  // In our form and, where asked for, in the Trainer's.
  const int64_t optimizer = whole_optimizer_bytes(table, plan) * (plan.saving.for_trainer ? 2 : 1);
  disk.checkpoint_bytes = weights + (plan.saving.only_model ? 0 : optimizer);
  if (!plan.do_train) return disk;
  const int64_t saves = saves_of_run(plan);
  if (plan.saving.interval.strategy == "no") {
    disk.needed_bytes = weights;
    return disk;
  }
  // The best checkpoint is kept beside the newest one; the one that is being written comes on top.
  const bool keeps_best = !plan.evaluation.metric_for_best_model.empty();
  disk.checkpoints_kept =
      plan.saving.total_limit ? std::max<int64_t>(*plan.saving.total_limit, keeps_best ? 2 : 1) + 1 : -1;
  const int64_t at_once =
      disk.checkpoints_kept > 0 && saves > 0 ? std::min(saves, disk.checkpoints_kept) : saves;
  disk.needed_bytes = at_once * disk.checkpoint_bytes + weights;
  return disk;
}

void check_budget(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!plan.do_train) return;
  check_memory(input, plan, problems);
  check_nvme(input, plan, problems);
  check_disk(plan, problems);
}

}  // namespace hftrain::plan
