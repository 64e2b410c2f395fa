// A task: what hftrain knows of it before anything is loaded is a text (HFTRAIN_TASK), what is measured of it beside a function. Who measures
// includes LibTorch, too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/plugin/run.h"

namespace at {
class Tensor;
}

// Where the description lies.
#define HFTRAIN_TASK_SECTION ".hftrain_task"

namespace hftrain::plugin {

// All N samples of a split in its order, on the CPU; what is shorter than the longest is filled up with -100.
struct JudgedSplit {
  const at::Tensor& predictions;  // [N, …]: int64, the best labels or tokens; or float32, scores and numbers
  const at::Tensor& labels;       // [N, …] as models get them, of the same place; of a text not shifted
  const std::vector<std::string>& label_names;  // by number; empty: they have none
};

// The metrics that the description names, all of them and no other, without eval_ or predict_. Called on each rank with the same split; what
// rank 0 gives counts. What it throws ends the run.
using Measure = std::function<Metrics(const JudgedSplit&)>;

}  // namespace hftrain::plugin

// clang-format off
#define HFTRAIN_TASK(DESCRIPTION)                                         \
  extern "C" {                                                            \
  __attribute__((visibility("default"), section(HFTRAIN_TASK_SECTION)))   \
  extern const char hftrain_task_description[];                           \
  const char hftrain_task_description[] = DESCRIPTION;                    \
  }
// clang-format on
