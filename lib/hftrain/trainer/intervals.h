// When to log, evaluate and save: pure functions of the plan and the position (DefaultFlowCallback of
// transformers).
#pragma once

#include <cstdint>

#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/control.h"

namespace hftrain::trainer {

// Flags after the update that made the global step `step`; `epoch` is the fractional epoch then.
void set_flags_at_step_end(const plan::RunPlan& plan, int64_t step, double epoch, Control& control);

// What the last update asks for beside that, on whatever number it is: part of the flags of step `max_steps`, and what is left to
// do where the epochs are over before it.
void set_flags_at_last_step(const plan::RunPlan& plan, int64_t step, Control& control);

// Flags at the end of an epoch, which also holds for the epoch that ends because the last step was done.
void set_flags_at_epoch_end(const plan::RunPlan& plan, double epoch, Control& control);

}  // namespace hftrain::trainer
