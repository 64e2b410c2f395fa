// Batches that somebody else's loader gives, in the place of those of the run or around them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "hftrain/comm/communicator.h"
#include "hftrain/models/batch.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/batch_source.h"

namespace hftrain::trainer {

// One rank's batches, on the CPU. Used by one thread.
class OwnLoader {
 public:
  virtual ~OwnLoader() = default;
  // The next batch is the one behind `skip` of that epoch.
  virtual void begin_epoch(int64_t epoch, int64_t skip) = 0;
  virtual std::optional<models::Batch> next() = 0;
  // Of an epoch; unset: nobody knows before its end.
  virtual std::optional<int64_t> length() const = 0;
};

// Gets that of the run, to use or to leave.
// Never null.
using MakeOwnLoader = std::function<std::unique_ptr<OwnLoader>(std::unique_ptr<OwnLoader> of_run)>;

// For training: an epoch ends on all ranks where it ends on one of them. The communicator must outlive it. Error (kUsage) for what the
// plan cannot know: epochs of another length without --max_steps, streamed data, going on with batches of another size.
std::unique_ptr<BatchSource> own_training_batches(std::unique_ptr<BatchLoader> of_run,
                                                  const MakeOwnLoader& make, const plan::RunPlan& plan,
                                                  comm::Communicator& communicator);

// For an evaluation from the first batch to the last: each stands for the one of the run in its place, and has as many rows; others are an
// Error (kInternal).
std::unique_ptr<BatchSource> own_evaluation_batches(std::unique_ptr<BatchLoader> of_run,
                                                    const MakeOwnLoader& make);

}  // namespace hftrain::trainer
