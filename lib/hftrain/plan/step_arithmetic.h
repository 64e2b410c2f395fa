// Batches, updates and intervals: the arithmetic of the Hugging Face Trainer 5.17 (its
// set_initial_training_values) as pure functions.
#pragma once

#include <cstdint>

#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

struct EpochShape {
  int64_t samples = 0;
  int64_t batch_size = 8;  // of one rank; of all ranks with split_batches
  int world_size = 1;
  bool drop_last = false;
  bool even_batches = true;
  bool split_batches = false;
  bool dispatched = false;  // rounds are cut into parts of one size
  // With batch_rebalance: micro-batches of an update, whose samples are shared out among them; 0: another order.
  int64_t rebalanced = 0;
};

// L: batches of one rank in one epoch; of rank 0 where ranks differ.
int64_t batches_per_epoch(const EpochShape& shape);
// False when some ranks get a batch more than others, which collective operations do not survive.
bool ranks_agree(const EpochShape& shape);

struct StepRequest {
  int64_t batches_per_epoch = 0;  // L
  int64_t accumulation_steps = 1;
  int64_t max_steps = -1;  // above 0 it wins over num_train_epochs
  double num_train_epochs = 3.0;
  int64_t samples = 0;  // of the data set
  int64_t global_batch = 8;
  bool floors_updates = false;  // U = floor(L / G), at least 1, as up to transformers 4.51
};

// L = 0 means that the data are not known yet: then only what max_steps fixes is filled in.
StepsPlan plan_steps(const StepRequest& request);

// `value` updates, or below 1 that share of all `total` updates, rounded up; at least 1 for a share. 0 for a
// share of an unknown total.
int64_t absolute_steps(double value, int64_t total);
// As absolute_steps, but a share may be 0 and a broken number is cut: get_warmup_steps of the Trainer.
int64_t warmup_steps(double value, int64_t total);

}  // namespace hftrain::plan
