#include "hftrain/checkpoint/checkpointed_run.h"

#include <algorithm>

#include "hftrain/checkpoint/weights.h"

namespace hftrain::checkpoint {

std::vector<size_t> trained_parameters(const CheckpointedRun& run) {
  std::vector<size_t> positions;
  const std::vector<int>& frozen = run.plan.model.frozen;
  for (size_t i = 0; i < run.table.parameters.size(); ++i) {
    if (!run.table.parameters[i].buffer &&
        !std::binary_search(frozen.begin(), frozen.end(), static_cast<int>(i)))
      positions.push_back(i);
  }
  return positions;
}

std::vector<architectures::SavedCopy> adapter_copies(const CheckpointedRun& run) {
  return architectures::saved_copies(run.table, run.plan.model.adapter->spec);
}

uint64_t model_bytes(const CheckpointedRun& run) {
  const uint64_t number = c10::elementSize(run.weight_dtype);
  if (!run.plan.model.adapter) return static_cast<uint64_t>(run.table.count()) * number;
  std::vector<size_t> positions = trained_parameters(run);
  for (const architectures::SavedCopy& copy : adapter_copies(run)) positions.push_back(copy.parameter);
  uint64_t bytes = 0;
  for (const size_t position : positions) {
    const architectures::ParameterSpec& spec = run.table.parameters[position];
    bytes += static_cast<uint64_t>(spec.numel()) * (spec.adapts ? sizeof(float) : number);
  }
  return bytes;
}

void write_model(const CheckpointedRun& run, SaveTarget* target) {
  if (run.plan.model.adapter) {
    return save_adapter(run.table, run.weight_dtype, trained_parameters(run), adapter_copies(run),
                        run.strategy, target);
  }
  save_weights(run.table, run.weight_dtype, run.strategy, run.plan.saving.max_shard_bytes, target);
}

}  // namespace hftrain::checkpoint
