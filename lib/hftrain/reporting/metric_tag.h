// What the Trainer's callbacks call a metric in a tracker, and which of them are said once of the whole run.
#pragma once

#include <string>
#include <string_view>

namespace hftrain::reporting {

// "eval_x" -> "eval/x", "test_x" -> "test/x", everything else -> "train/x".
std::string metric_tag(const std::string& metric);

// train_runtime and its like, which W&B's callback puts into the summary of a run and no curve.
bool is_of_whole_run(std::string_view metric);

}  // namespace hftrain::reporting
