#include "hftrain/plan/step_arithmetic.h"

#include <algorithm>
#include <cmath>

namespace hftrain::plan {
namespace {

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int64_t all_batches(const EpochShape& shape) {
  return shape.drop_last ? shape.samples / shape.batch_size : divide_up(shape.samples, shape.batch_size);
}

// As much of it as leaves room for sums; nobody gets there.
int64_t whole(double number) {
  constexpr double kMost = 1e18;
  return static_cast<int64_t>(std::min(number, kMost));
}

int64_t share_of(double share, int64_t total) {
  return whole(std::ceil(static_cast<double>(total) * share));
}

}  // namespace

int64_t batches_per_epoch(const EpochShape& shape) {
  if (shape.rebalanced > 0) {
    const int64_t update = shape.batch_size * shape.world_size * shape.rebalanced;
    const int64_t updates = shape.drop_last ? shape.samples / update : divide_up(shape.samples, update);
    return updates * shape.rebalanced;
  }
  const int64_t batches = all_batches(shape), world = shape.world_size;
  if (world == 1 || shape.split_batches || batches % world == 0) {
    return shape.split_batches ? batches : batches / world;
  }
  // even_batches completes the last round; without it rank 0 is among those that get one batch more.
  return batches / world + (shape.drop_last ? 0 : 1);
}

bool ranks_agree(const EpochShape& shape) {
  if (shape.even_batches || shape.drop_last || shape.dispatched || shape.rebalanced > 0) return true;
  if (!shape.split_batches) return all_batches(shape) % shape.world_size == 0;
  // Slices of a short last batch are handed out in order: the last rank is the first that gets none.
  const int64_t rest = shape.samples % shape.batch_size, slice = shape.batch_size / shape.world_size;
  return rest == 0 || rest > slice * (shape.world_size - 1);
}

StepsPlan plan_steps(const StepRequest& request) {
  StepsPlan steps;
  const bool known = request.batches_per_epoch > 0, by_steps = request.max_steps > 0;
  steps.num_train_epochs = request.num_train_epochs;
  steps.batches_per_epoch = request.batches_per_epoch;
  steps.limited_by_steps = by_steps;
  if (by_steps) steps.max_steps = request.max_steps;
  if (by_steps) steps.samples_for_speed = request.max_steps * request.global_batch;
  if (!known) return steps;
  const int64_t groups = request.floors_updates
                             ? request.batches_per_epoch / request.accumulation_steps
                             : divide_up(request.batches_per_epoch, request.accumulation_steps);
  steps.updates_per_epoch = std::max<int64_t>(1, groups);
  if (by_steps) {
    steps.epochs = divide_up(request.max_steps, steps.updates_per_epoch);
    return steps;
  }
  steps.max_steps = share_of(request.num_train_epochs, steps.updates_per_epoch);
  steps.epochs = whole(std::ceil(request.num_train_epochs));
  steps.samples_for_speed = whole(static_cast<double>(request.samples) * request.num_train_epochs);
  return steps;
}

int64_t absolute_steps(double value, int64_t total) {
  if (value >= 1) return whole(value);
  if (value <= 0 || total <= 0) return 0;
  return std::max<int64_t>(1, share_of(value, total));
}

int64_t warmup_steps(double value, int64_t total) {
  return value >= 1 ? whole(value) : share_of(value, total);
}

}  // namespace hftrain::plan
