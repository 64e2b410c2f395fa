// Units and the runner that a model hands them to.
//
// A model is a list of units (embeddings, each block, head). Its forward passes every unit through a
// UnitRunner and never touches a parameter itself: inside the unit's function the parameters are those that
// the runner handed over. So a runner may gather sharded parameters before the function and free them after
// it, recompute it in the backward pass, or move its activations, and runners wrap one another:
//
//   UnitRunner plain;
//   CheckpointingRunner checkpointing(plain, every_n);   // model.forward(batch, checkpointing)
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace hftrain::nn {

struct Unit {
  int index = 0;     // position in forward order
  std::string name;  // "embeddings", "block.0", …, "head"
  std::vector<int>
      parameters;         // positions in the model's parameter list; a tied one appears in both its units
  bool repeated = false;  // a block: what is recomputed and resharded
  bool random = false;    // draws random numbers while training (dropout, noise)
};

// Maths of one unit. May be called a second time in the backward pass, from an autograd thread, after the
// forward has returned: it owns what it captures and changes nothing outside. A tensor that gradients flow
// through is an input: one that the function captures gets none when the unit is recomputed. Inputs and
// outputs may hold undefined tensors (a mask that is not there); which ones does not change between the
// calls.
using UnitFunction = std::function<std::vector<at::Tensor>(at::TensorList parameters, at::TensorList inputs)>;

// The plain call, and the base of all other runners. Called by one thread at a time.
class UnitRunner {
 public:
  virtual ~UnitRunner() = default;
  // `parameters` are the unit's, in the order of unit.parameters. Returns what the function returns. An
  // output may go into any number of later units (the encoder's into every block of a decoder).
  virtual std::vector<at::Tensor> run(const Unit& unit, at::TensorList parameters, at::TensorList inputs,
                                      const UnitFunction& function);
};

}  // namespace hftrain::nn
