#include "hftrain/trainer/others_position.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hftrain/plan/step_arithmetic.h"

namespace hftrain::trainer {
namespace {

DataPosition position_in_stream(const plan::RunPlan& plan, const reporting::TrainerState& saved) {
  const double through = std::floor(saved.epoch);
  const int64_t accumulation = plan.batch.accumulation_steps, updates = std::max<int64_t>(1, saved.max_steps);
  const double share = static_cast<double>(saved.global_step) / static_cast<double>(updates);
  if (std::abs(saved.epoch - share) * static_cast<double>(updates) < 0.5)
    return {0, saved.global_step * accumulation};
  return {static_cast<int64_t>(through),
          std::llround((saved.epoch - through) * static_cast<double>(updates * accumulation))};
}

}  // namespace

// Rounds of another size cut an epoch into another number of them, the last of which is rarely full: those that the saved
// run had done are counted in its own, and their samples passed.
DataPosition position_in_data(const plan::RunPlan& plan, const reporting::TrainerState& saved, int ranks,
                              const DataPace& pace) {
  if (plan.data.stream) return position_in_stream(plan, saved);
  const auto whole = static_cast<int64_t>(std::floor(saved.epoch));
  const double share = saved.epoch - std::floor(saved.epoch);
  const int64_t batch = saved.train_batch_size.value_or(0), round = batch * ranks;
  const bool other = round > 0 && round != pace.round && !pace.by_updates && !plan.data.split_batches &&
                     plan.data.train && plan.data.train->samples > 0;
  if (!other) return {whole, std::llround(share * static_cast<double>(plan.steps.batches_per_epoch))};
  plan::EpochShape shape;
  shape.samples = plan.data.train->samples;
  shape.batch_size = batch;
  shape.world_size = ranks;
  shape.drop_last = plan.data.drop_last;
  shape.even_batches = plan.data.even_batches;
  shape.dispatched = plan.data.dispatch_batches;
  const auto rounds = std::llround(share * static_cast<double>(plan::batches_per_epoch(shape)));
  return moved_to({whole, rounds}, {.round = round, .update = pace.update}, pace);
}

}  // namespace hftrain::trainer
