// How many labels of a batch count in the release that a run has the habits of.
#pragma once

#include <cstdint>

#include "hftrain/architectures/architecture.h"
#include "hftrain/models/batch.h"
#include "hftrain/plan/run_plan.h"

namespace hftrain::trainer {

// What the summed loss of an update is divided by, of one of its micro-batches, and that of an evaluation's batch where it has a count
// (the Trainer's _get_num_items_in_batch): models::label_count(), but for causal models of older releases. `batch` is on the host.
int64_t counted_labels(const plan::RunPlan& plan, const architectures::Architecture& architecture,
                       const models::Batch& batch);

}  // namespace hftrain::trainer
