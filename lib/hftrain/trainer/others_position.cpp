#include "hftrain/trainer/others_position.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "hftrain/base/checked_arithmetic.h"
#include "hftrain/base/error.h"
#include "hftrain/plan/step_arithmetic.h"

namespace hftrain::trainer {
namespace {

// Beyond what any run reaches, and so small that samples of all ranks can be counted with it.
constexpr int64_t kMostUpdates = int64_t{1} << 40, kMostRows = int64_t{1} << 31;

[[noreturn]] void refuse(const std::string& origin, const std::string& why) {
  throw Error(ExitCode::kData, "the place in the data of this checkpoint is that of no run")
      .where(origin)
      .why(why)
      .hint(
          "copy the checkpoint again, or use another one; --model_name_or_path starts a new run from its "
          "weights alone");
}

void check_numbers(const reporting::TrainerState& saved, const std::string& origin) {
  const auto check = [&](const char* name, int64_t number, int64_t most) {
    if (number < 0 || number > most)
      refuse(origin, std::string("its ") + name + " is " + std::to_string(number));
  };
  check("global_step", saved.global_step, kMostUpdates);
  check("max_steps", std::max<int64_t>(0, saved.max_steps), kMostUpdates);
  check("train_batch_size", saved.train_batch_size.value_or(0), kMostRows);
  // What is no number, too.
  if (!(saved.epoch >= 0 && saved.epoch <= static_cast<double>(kMostUpdates)))
    refuse(origin, "its epoch is " + std::to_string(saved.epoch));
}

// Of as many updates, with this run's accumulation.
int64_t batches_of(int64_t updates, const plan::RunPlan& plan, const std::string& origin) {
  const std::optional<int64_t> batches = checked_product(updates, plan.batch.accumulation_steps);
  if (!batches)
    refuse(origin, "its updates with this run's accumulation are more batches than can be counted");
  return *batches;
}

DataPosition position_in_stream(const plan::RunPlan& plan, const reporting::TrainerState& saved,
                                const std::string& origin) {
  const double through = std::floor(saved.epoch);
  const int64_t updates = std::max<int64_t>(1, saved.max_steps);
  const double share = static_cast<double>(saved.global_step) / static_cast<double>(updates);
  if (std::abs(saved.epoch - share) * static_cast<double>(updates) < 0.5)
    return {0, batches_of(saved.global_step, plan, origin)};
  return {static_cast<int64_t>(through),
          std::llround((saved.epoch - through) * static_cast<double>(batches_of(updates, plan, origin)))};
}

// What is not known of the saved run is as in this one.
plan::EpochShape saved_epoch(const plan::RunPlan& plan, int64_t batch, int ranks, const DataPace& pace) {
  plan::EpochShape shape;
  shape.samples = plan.data.train->samples;
  shape.batch_size = batch;
  shape.world_size = ranks;
  shape.drop_last = plan.data.drop_last;
  shape.even_batches = plan.data.even_batches;
  shape.split_batches = plan.data.split_batches;
  shape.dispatched = plan.data.dispatch_batches;
  shape.rebalanced = pace.by_updates ? plan.batch.accumulation_steps : 0;
  return shape;
}

// The batches that are `share` of an epoch. Whether that run dropped the last one nobody says, but only with or only without it are
// they a whole number. Of rebalanced ones the accumulation may have been another as well, so that nothing follows.
int64_t batches_done(double share, plan::EpochShape shape) {
  const double done = share * static_cast<double>(plan::batches_per_epoch(shape));
  if (shape.rebalanced > 0) return std::llround(done);
  shape.drop_last = !shape.drop_last;
  const double other = share * static_cast<double>(plan::batches_per_epoch(shape));
  const bool was_other = std::abs(other - std::round(other)) < std::abs(done - std::round(done));
  return std::llround(was_other ? other : done);
}

}  // namespace

// Rounds of another size cut an epoch into another number of them, the last of which is rarely full: those that the saved
// run had done are counted in its own, and their samples passed.
DataPosition position_in_data(const plan::RunPlan& plan, const reporting::TrainerState& saved, int ranks,
                              const DataPace& pace, const std::string& origin) {
  check_numbers(saved, origin);
  if (plan.data.stream) return position_in_stream(plan, saved, origin);
  const auto whole = static_cast<int64_t>(std::floor(saved.epoch));
  const double share = saved.epoch - std::floor(saved.epoch);
  if (!plan.data.train || plan.data.train->samples <= 0)
    return {whole, std::llround(share * static_cast<double>(plan.steps.batches_per_epoch))};
  const int64_t batch = saved.train_batch_size.value_or(0);
  const bool known = batch > 0 && (ranks > 0 || plan.data.split_batches);
  const plan::EpochShape shape =
      known ? saved_epoch(plan, batch, ranks, pace)
            : saved_epoch(plan, plan.batch.per_device_train, plan.ranks.world_size, pace);
  const DataPosition position{whole, batches_done(share, shape)};
  const int64_t round = plan.data.split_batches ? batch : batch * ranks;
  if (!known || round == pace.round) return position;
  return moved_to(position, {.round = round, .update = pace.update}, pace);
}

}  // namespace hftrain::trainer
