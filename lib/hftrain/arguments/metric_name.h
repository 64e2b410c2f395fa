// The name of an evaluation's metric as users write it, and as logs have it.
#pragma once

#include <string>
#include <utility>

namespace hftrain::arguments {

// "accuracy" is eval_accuracy, as the Trainer takes metric_for_best_model; no name stays none.
inline std::string metric_in_log(std::string name) {
  if (!name.empty() && !name.starts_with("eval_")) name.insert(0, "eval_");
  return name;
}

}  // namespace hftrain::arguments
