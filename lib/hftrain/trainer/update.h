// One optimizer update: forward and backward of its micro-batches, clipping, the step, the schedule.
#pragma once

#include <functional>
#include <vector>

#include "hftrain/models/model.h"
#include "hftrain/optim/gradients.h"
#include "hftrain/optim/schedule.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/loss_accumulator.h"

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

class Update {
 public:
  Update(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
         parallel::Strategy& strategy, optim::Schedule& schedule, optim::GradientScaler& scaler);

  // `divisor`: what the summed token losses of every micro-batch are divided by. Gradients are zero before
  // and after.
  UpdateResult run(const std::vector<LoadedBatch>& micro_batches, double divisor, LossAccumulator& losses,
                   int64_t steps_since_log, const UpdateHooks& hooks);

 private:
  void accumulate(const LoadedBatch& batch, double divisor, bool synchronise, LossAccumulator& losses,
                  int64_t steps_since_log, const UpdateHooks& hooks);

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  parallel::Strategy& strategy_;
  optim::Schedule& schedule_;
  optim::GradientScaler& scaler_;
};

}  // namespace hftrain::trainer
