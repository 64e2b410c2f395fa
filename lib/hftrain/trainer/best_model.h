// Where the best model of a run is: a checkpoint folder that may have been moved or removed since it was
// written.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Where the best checkpoint of a resumed state may be, in the order in which it is looked for: in `output_dir`, where the state says
// it was, beside the checkpoint that the run is resumed from. On every node as many, of the same meaning. Empty: there was none.
std::vector<std::string> places_of_best(const State& state, const std::string& output_dir,
                                        const std::string& resumed_from);
// The first one that is there; nothing: it is gone, or there was none.
std::optional<size_t> place_of_best(const std::vector<std::string>& places);

// Strictly; without a best value so far every number is better than none, and NaN never is.
bool better_than(std::optional<double> best, double value, bool greater_is_better);
// What stands for the best value when nothing was better than nothing: an infinity.
double worst_metric(bool greater_is_better);

}  // namespace hftrain::trainer
