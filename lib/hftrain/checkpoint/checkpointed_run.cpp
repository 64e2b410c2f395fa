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

void write_model(const CheckpointedRun& run, SaveTarget* target) {
  if (run.plan.model.adapter) {
    return save_adapter(run.table, run.weight_dtype, trained_parameters(run), adapter_copies(run),
                        run.strategy, target);
  }
  save_weights(run.table, run.weight_dtype, run.strategy, run.plan.saving.max_shard_bytes, target);
}

}  // namespace hftrain::checkpoint
