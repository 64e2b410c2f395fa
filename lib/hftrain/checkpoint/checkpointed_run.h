// The run whose state is saved and loaded, as one rank has it.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/checkpoint/save_target.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::checkpoint {

// All must outlive whoever keeps it.
struct CheckpointedRun {
  const plan::RunPlan& plan;
  const architectures::ParameterTable& table;
  at::ScalarType weight_dtype;  // of the parameters
  parallel::Strategy& strategy;
  comm::Communicator& communicator;

  bool writes_model() const { return communicator.rank() == 0; }
};

// Of a run that trains an adapter: positions in the table of what is saved, and the copies that its file holds beside them.
std::vector<size_t> trained_parameters(const CheckpointedRun& run);
std::vector<architectures::SavedCopy> adapter_copies(const CheckpointedRun& run);

// Of the numbers that write_model writes.
uint64_t model_bytes(const CheckpointedRun& run);
// Collective: the weights, or those of the adapter that is trained. `target` is null on all ranks but 0.
void write_model(const CheckpointedRun& run, SaveTarget* target);

}  // namespace hftrain::checkpoint
