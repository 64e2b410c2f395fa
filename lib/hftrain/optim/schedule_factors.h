// The schedules that are functions of the step: the factor on the base rate. Formulas: optimization.py of transformers 5.17.
#pragma once

#include <functional>

#include "hftrain/optim/schedule.h"
#include "hftrain/optim/schedule_options.h"

namespace hftrain::optim {

// Factor of the update after `step` steps. Pure.
using Factor = std::function<double(int64_t step)>;

// Each reads its options and checks them (Error, exit code 2).
Factor constant_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor constant_with_warmup_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor linear_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor cosine_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor cosine_with_restarts_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor polynomial_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor inverse_sqrt_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor cosine_with_min_lr_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor cosine_warmup_with_min_lr_factor(const ScheduleSetting& setting, ScheduleOptions& options);
Factor warmup_stable_decay_factor(const ScheduleSetting& setting, ScheduleOptions& options);

}  // namespace hftrain::optim
