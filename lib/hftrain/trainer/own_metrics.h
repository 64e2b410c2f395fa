// Metrics that somebody else computes from all outputs of an evaluation, beside those of the task (transformers' compute_metrics).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/trainer/scorer_exchange.h"

namespace hftrain::trainer {

// N samples in the order of the split, on the CPU; what is shorter than the longest of its kind is filled up with -100.
struct JudgedOutputs {
  at::Tensor predictions;  // [N, …]: int64 best ids or float32 scores, as tasks/scorer.h says
  std::map<std::string, at::Tensor> labels;  // by column; none where the split has none
};
using OwnMetrics = std::function<std::vector<std::pair<std::string, double>>(const JudgedOutputs&)>;

// Makes scorers that judge as those of `make` do, and by `metrics`, whose numbers take the place of equal names. They keep all outputs,
// and those of all ranks at the end. `labels`: the columns that are, in their order. Not set where `make` is not.
ScorerMaker with_own_metrics(ScorerMaker make, OwnMetrics metrics, std::vector<std::string> labels);

}  // namespace hftrain::trainer
