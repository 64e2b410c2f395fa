// The rules by subject, in the order in which they are checked.
#pragma once

#include <span>

#include "hftrain/arguments/rules.h"

namespace hftrain::arguments {

std::span<const Rule> interval_rules();
std::span<const Rule> training_rules();
std::span<const Rule> data_rules();
std::span<const Rule> launch_rules();
std::span<const Rule> task_rules();
std::span<const Rule> effect_rules();
std::span<const Rule> loop_effect_rules();

}  // namespace hftrain::arguments
