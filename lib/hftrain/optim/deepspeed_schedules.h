// The schedules of DeepSpeed's scheduler section: the rate itself as a function of the step. Formulas:
// runtime/lr_schedules.py of deepspeed 0.19.8.
//
// DeepSpeed sets a rate after an update, so the first update has the initial value and the second one that of
// iteration 0: after `step` steps the iteration is step - 1.
#pragma once

#include "hftrain/optim/schedule_factors.h"

namespace hftrain::optim {

// Each gives the rate (not a factor) of the update after `step` steps, reads its options and checks them
// (Error, exit code 2). Where an option is absent and the run knows the value, the run's is used:
// warmup_max_lr is its learning rate, warmup_num_steps and total_num_steps its warm-up and its length.
Factor warmup_rate(const ScheduleSetting& setting, ScheduleOptions& options);
Factor warmup_decay_rate(const ScheduleSetting& setting, ScheduleOptions& options);
Factor warmup_cosine_rate(const ScheduleSetting& setting, ScheduleOptions& options);
Factor range_test_rate(const ScheduleSetting& setting, ScheduleOptions& options);
Factor one_cycle_rate(const ScheduleSetting& setting, ScheduleOptions& options);

// Betas of the update after `step` steps. Pure.
using BetaCurve = std::function<Betas(int64_t step)>;
// The momentum, against the rate: the first beta is cycle_max_mom where the rate is least. Only the very
// first update has cycle_min_mom, as DeepSpeed starts. Empty without cycle_momentum.
BetaCurve one_cycle_betas(ScheduleOptions& options);

}  // namespace hftrain::optim
