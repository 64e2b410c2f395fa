// Where the best model of a run is: a checkpoint folder that may have been moved or removed since it was
// written (outputs.md 8.7 and 8.9 of the contract).
#pragma once

#include <optional>
#include <string>

#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// The folder of the best checkpoint of a resumed state: in `output_dir`, where the state says it was, or
// beside the checkpoint that the run is resumed from. Empty: it is gone, or there was none.
std::string find_best_checkpoint(const State& state, const std::string& output_dir,
                                 const std::string& resumed_from);

// Strictly; without a best value so far every number is better than none, and NaN never is.
bool better_than(std::optional<double> best, double value, bool greater_is_better);
// What stands for the best value when nothing was better than nothing: an infinity.
double worst_metric(bool greater_is_better);

}  // namespace hftrain::trainer
