// The options of the learning-rate schedules (--lr_scheduler_kwargs) and of the optimizers (--optim_args).
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/arguments/raw_argument.h"

namespace hftrain::arguments {

// The keys that a schedule or an optimizer knows.
std::span<const Key> schedule_keys(const std::string& schedule);
std::span<const Key> optimizer_keys(const std::string& optimizer);

// The pairs of key=value,key=value in their order, without blanks around them; a part without a key and '=' is left out.
std::vector<std::pair<std::string, std::string>> option_pairs(const std::string& text);

// Those of optim_args by their keys, of the types that the optimizer gives them; what was told as a mistake is left out.
Json optimizer_options(const OptimizerArguments& optimizer);

// Replaces arguments.schedule.lr_scheduler_kwargs by typed values; unknown keys, wrong types and missing
// required keys are appended to `problems`.
void check_schedule_options(ParseOutcome& outcome, Diagnostics& problems);
// key=value,key=value: the form, the keys and the types of the values, and what cannot stand together. A
// weight_decay there is that of the run.
void check_optimizer_options(ParseOutcome& outcome, Diagnostics& problems);

}  // namespace hftrain::arguments
