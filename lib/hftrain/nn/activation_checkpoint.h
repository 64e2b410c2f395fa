// Activation checkpointing: a block keeps only its inputs and is computed again in the backward pass.
#pragma once

#include <map>

#include "hftrain/nn/unit_runner.h"

namespace hftrain::nn {

// Wraps the functions of blocks 0, n, 2n, … (counted over repeated units) and passes every unit on to `next`,
// so that a runner that gathers parameters does so around the checkpointed block; in the backward pass the
// block is computed again on the tensors that `next` handed over. The state of the default generators is
// restored for units that draw random numbers. Gradients come out as without checkpointing.
class CheckpointingRunner final : public UnitRunner {
 public:
  // `next` outlives this object. every_n_layers >= 1. `offload`: the inputs that a block keeps, as far as gradients
  // flow through them, lie in (on a GPU pinned) host memory from the forward to the backward pass.
  CheckpointingRunner(UnitRunner& next, int64_t every_n_layers, bool offload = false);
  std::vector<at::Tensor> run(const Unit& unit, at::TensorList parameters, at::TensorList inputs,
                              const UnitFunction& function) override;

 private:
  UnitRunner& next_;
  int64_t every_n_layers_;
  bool offload_;
  std::map<int, int64_t> numbers_;  // of blocks, by their units: between two of them may be one that is none
};

}  // namespace hftrain::nn
