// What a DeepSpeed file says that no flag can say, typed. import/ fills it; plan::resolve honours it.
#pragma once

#include <cstdint>
#include <optional>

#include "hftrain/arguments/parallel_options.h"

namespace hftrain::arguments {

// The fp16 section; the defaults are DeepSpeed's. optim::LossScale says what each value does.
struct LossScaleOptions {
  double fixed = 0;  // 0: dynamic
  int64_t initial_power = 16;
  int64_t window = 1000;
  int64_t hysteresis = 2;
  bool consecutive_hysteresis = false;
  double minimum = 1;
};

struct DeepSpeedOptions {
  // Unset: the run is not in fp16, and the file has no such section.
  std::optional<LossScaleOptions> loss_scale;
  // The file has an optimizer section. Its optimizer has one group: norms and biases decay as all others do.
  bool has_optimizer = false;
  // Values that only the plan can compare, because they depend on the ranks or on the data.
  Sourced<int64_t> train_batch_size;
  Sourced<int64_t> total_steps, warmup_steps;
  // Neither a flag nor the file gives them, so they follow from train_batch_size.
  bool micro_batch_follows = false, accumulation_follows = false;
  // stage3_param_persistence_threshold is "auto": ten times the hidden size of the model.
  bool full_parameter_limit_by_hidden_size = false;
};

}  // namespace hftrain::arguments
