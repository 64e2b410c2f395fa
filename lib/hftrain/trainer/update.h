// One optimizer update: forward and backward of its micro-batches, clipping, the step, the schedule.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hftrain/models/model.h"
#include "hftrain/models/own_loss.h"
#include "hftrain/optim/gradient_scaler.h"
#include "hftrain/optim/schedule.h"
#include "hftrain/parallel/host_copies.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/loss_accumulator.h"
#include "hftrain/trainer/step_clock.h"

namespace hftrain::trainer {

struct UpdateResult {
  double grad_norm = 0;      // L2 over all gradients, before clipping
  double learning_rate = 0;  // what the update used
  bool skipped = false;      // the norm was not finite: parameters and schedule are as before
};

// Moments of an update that callbacks are told about.
struct UpdateHooks {
  std::function<void()> substep_end, pre_optimizer_step, optimizer_step;
  std::function<void()> before_backward = [] {};  // of every micro-batch
};

// Forward and backward of a micro-batch whose columns are on the device; the loss, without its graph.
using ForwardBackward = std::function<at::Tensor(const models::Batch&)>;
// What is done around it by somebody else, who calls it once.
using TrainingStep = std::function<at::Tensor(const models::Batch&, const ForwardBackward&)>;

// On a device whose copies come late nobody waits for the norm: the device decides itself whether it skips (where the optimizer
// can) and what the loss scale becomes, and the host hears of an update while the next one is computed, in time for the rate of that one.
class Update {
 public:
  // `clock` hears of forward, backward and optimizer. `copies`: of a device that computes while the host goes on; null: numbers are read at once.
  Update(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
         parallel::Strategy& strategy, optim::Schedule& schedule, optim::GradientScaler& scaler,
         StepClock& clock, std::unique_ptr<parallel::HostCopies> copies,
         models::ObjectiveMaker make_objective = models::loss_objective, TrainingStep own_step = {});

  // `divisor`: what the summed token losses of every micro-batch are divided by; where labels do not weigh micro-batches, the mean
  // of each is divided by their number instead. Gradients are zero before
  // and after. What is known now: of this update, or of the one before (nothing: this is the first).
  std::optional<UpdateResult> run(const std::vector<LoadedBatch>& micro_batches, double divisor,
                                  LossAccumulator& losses, int64_t steps_since_log, const UpdateHooks& hooks);
  // Of the last update if run() has not told it; waits for the device. The schedule has gone on when this returns.
  std::optional<UpdateResult> settle();

 private:
  struct Waiting {
    at::Tensor facts;  // on the host when the copies up to `mark` are over
    parallel::HostCopies::Mark mark;
    double rate;
  };

  // Of gradients whose norm is known; on the device, {norm}, and with a loss scale {norm, 1 where none is small enough}.
  at::Tensor facts_of(const at::Tensor& norm, const at::Tensor& bad);
  UpdateResult told(const at::Tensor& facts, double rate) const;
  bool late() const;
  at::Tensor loss_scale() const;  // undefined: none
  std::optional<UpdateResult> step(const UpdateHooks& hooks);
  UpdateResult step_at_once(const UpdateHooks& hooks);
  std::optional<UpdateResult> step_late(const UpdateHooks& hooks);
  at::Tensor forward(const models::Batch& columns, const models::Objective& objective);
  // What the loss of a micro-batch is divided by, of this update.
  struct Divisors {
    double labels = 1;
    int64_t micro_batches = 1;
  };
  at::Tensor forward_backward(const models::Batch& columns, const Divisors& divisors,
                              const UpdateHooks& hooks);
  void accumulate(const LoadedBatch& batch, const Divisors& divisors, bool synchronise,
                  LossAccumulator& losses, int64_t steps_since_log, const UpdateHooks& hooks);

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  parallel::Strategy& strategy_;
  optim::Schedule& schedule_;
  optim::GradientScaler& scaler_;
  StepClock& clock_;
  std::unique_ptr<parallel::HostCopies> copies_;
  models::ObjectiveMaker make_objective_;
  TrainingStep own_step_;
  std::optional<Waiting> waiting_;
};

}  // namespace hftrain::trainer
