#include "hftrain/trainer/intervals.h"

#include "hftrain/plan/release_habits.h"

namespace hftrain::trainer {
namespace {

bool hits(const plan::IntervalPlan& interval, int64_t step) {
  return interval.strategy == "steps" && interval.steps > 0 && step % interval.steps == 0;
}

// The delay counts updates under the strategy steps and epochs under the strategy epoch.
bool delay_over(const plan::EvaluationPlan& evaluation, double position) {
  return evaluation.delay <= position;
}

}  // namespace

void set_flags_at_step_end(const plan::RunPlan& plan, int64_t step, double, Control& control) {
  const auto position = static_cast<double>(step);
  if (step == 1 && plan.logging.first_step) control.should_log = true;
  if (hits(plan.logging.interval, step)) control.should_log = true;
  if (hits(plan.evaluation.interval, step) && delay_over(plan.evaluation, position))
    control.should_evaluate = true;
  if (hits(plan.saving.interval, step)) control.should_save = true;
  if (step < plan.steps.max_steps) return;
  control.should_training_stop = true;
  set_flags_at_last_step(plan, step, control);
}

void set_flags_at_last_step(const plan::RunPlan& plan, int64_t step, Control& control) {
  const plan::ReleaseHabits habits{plan.release};
  if (plan.evaluation.interval.strategy == "steps" && !hits(plan.evaluation.interval, step) &&
      !habits.evaluates_multiples_only() && delay_over(plan.evaluation, static_cast<double>(step))) {
    control.should_evaluate = true;
  }
  if (habits.saves_last_update(plan.saving.interval.strategy)) control.should_save = true;
}

void set_flags_at_epoch_end(const plan::RunPlan& plan, double epoch, Control& control) {
  if (plan.logging.interval.strategy == "epoch") control.should_log = true;
  if (plan.evaluation.interval.strategy == "epoch" && delay_over(plan.evaluation, epoch)) {
    control.should_evaluate = true;
  }
  if (plan.saving.interval.strategy == "epoch") control.should_save = true;
}

}  // namespace hftrain::trainer
