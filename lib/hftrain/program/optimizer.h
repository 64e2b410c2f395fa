// An optimizer and a schedule of a program's own, in the place of --optim and of --lr_scheduler_type.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hftrain {

// What this rank updates: whole parameters; where a strategy shards them (ZeRO, FSDP) one-dimensional pieces, of which
// each number is updated by itself. On the device of the parameters, or on the CPU where the optimizer is offloaded.
struct ParameterGroup {
  std::vector<at::Tensor> parameters;
  double weight_decay = 0;
};

// One on every rank, used on its training thread and without autograd.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Changes the parameters in place, by their .grad(), which is clipped already. One without a gradient stays as it is. Not called for an
  // update whose gradients are not finite.
  virtual void step(double learning_rate) = 0;
  // What checkpoints keep: tensors of the shape of their parameter, or of one number, under names; there from construction on, and the same
  // ones each time: a run that goes on writes into them. Others are refused. `parameter` counts through all groups.
  virtual std::vector<std::string> state_names() const { return {}; }
  virtual at::Tensor state(size_t /*parameter*/, const std::string& /*name*/) const { return {}; }
};

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const std::vector<ParameterGroup>&)>;

// What --learning_rate is multiplied by for the update behind `updates` others: 0 for the first. The same on all ranks.
using Schedule = std::function<double(int64_t updates)>;

// Handed to a Trainer (transformers' `optimizers`). Not set: what the flags say.
struct Optimizers {
  MakeOptimizer optimizer;
  Schedule scheduler;
};

}  // namespace hftrain
