#include "hftrain/plan/smoke_ranks.h"

#include <algorithm>

#include "hftrain/arguments/deepspeed_options.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

using arguments::Sourced;

std::string ranks_here(const RunPlan& plan) {
  const int ranks = plan.ranks.world_size;
  return "this check has " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
}

void note_mesh(const arguments::ParallelOptions& asked, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const StrategyPlan& strategy = plan.strategy;
  std::vector<std::string> sizes;
  const auto compare = [&](const Sourced<int64_t>& size, int planned, const char* of) {
    if (size && *size != planned)
      sizes.push_back(std::to_string(*size) + of + " (" + where(size.origin) + ')');
  };
  compare(asked.replicate_ranks, strategy.mesh_replicate, " replicas");
  compare(asked.shard_ranks, strategy.mesh_shard, " ranks that share a model");
  if (sizes.empty()) return;
  notes.push_back(note("the mesh is " + std::to_string(strategy.mesh_replicate) + " x " +
                           std::to_string(strategy.mesh_shard) + " (replicate x shard) here, not of " +
                           join(sizes, " and "),
                       ranks_here(plan)));
}

void note_batch(const Sourced<int64_t>& asked, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!asked || *asked == plan.batch.global_train) return;
  notes.push_back(note("train_batch_size " + std::to_string(*asked) + " (" + where(asked.origin) + ") is " +
                           std::to_string(plan.batch.global_train) + " here",
                       ranks_here(plan) + ", with micro-batches of " +
                           std::to_string(plan.batch.per_device_train) + ", " +
                           std::to_string(plan.batch.accumulation_steps) + " an update"));
}

void note_length(const Sourced<int64_t>& asked, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!asked || *asked == plan.steps.max_steps) return;
  notes.push_back(note("total_num_steps " + std::to_string(*asked) + " (" + where(asked.origin) + ") is " +
                           std::to_string(plan.steps.max_steps) + " here",
                       "this check has as many updates"));
}

}  // namespace

MeshSizes smaller_mesh(const Sourced<int64_t>& replicate, const Sourced<int64_t>& shard, int64_t world) {
  const int64_t most_replicas = replicate.value_or(world), largest = shard.value_or(world);
  // One group of all ranks, where no other sizes are within those that were asked for.
  MeshSizes best = {1, world};
  int64_t least = 0;
  for (int64_t size = world; size >= 1; --size) {
    const int64_t replicas = world / size;
    if (world % size != 0 || size > largest || replicas > most_replicas) continue;
    if (std::min(size, replicas) <= least) continue;
    least = std::min(size, replicas);
    best = {replicas, size};
  }
  return best;
}

std::vector<Diagnostic> notes_of_smoke(const arguments::ParseOutcome& parsed, const RunPlan& plan) {
  std::vector<Diagnostic> notes;
  const auto& parallel = parsed.arguments.parallel;
  note_mesh(parallel.sharding, plan, notes);
  if (!parallel.deepspeed) return notes;
  // While the batch is searched the file's numbers stand.
  if (!parsed.arguments.batch.auto_find_batch_size)
    note_batch(parallel.deepspeed->train_batch_size, plan, notes);
  note_length(parallel.deepspeed->total_steps, plan, notes);
  return notes;
}

}  // namespace hftrain::plan
