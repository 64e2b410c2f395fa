#include "hftrain/nn/activation_checkpoint.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <mutex>

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// States of the default generators that a unit on `device` draws from.
struct RandomState {
  std::vector<std::pair<at::Device, at::Tensor>> states;

  static std::vector<at::Device> devices(at::Device device) {
    if (device.is_cpu()) return {device};
    return {at::Device(at::kCPU), device};
  }
  static RandomState capture(at::Device device) {
    RandomState result;
    for (const at::Device each : devices(device)) {
      at::Generator generator = at::globalContext().defaultGenerator(each);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      result.states.emplace_back(each, generator.get_state());
    }
    return result;
  }
  void restore() const {
    for (const auto& [device, state] : states) {
      at::Generator generator = at::globalContext().defaultGenerator(device);
      const std::lock_guard<std::mutex> lock(generator.mutex());
      generator.set_state(state);
    }
  }
};

// Carried by the graph from forward to backward.
struct Recomputation : torch::CustomClassHolder {
  UnitFunction function;
  RandomState random;  // empty for a unit that draws nothing
};

// Inputs: the unit's input and its parameters, so that gradients of both flow through the outer graph
// (a std::vector argument would lose them without a word).
struct Checkpoint : Function<Checkpoint> {
  static at::Tensor forward(AutogradContext* ctx, at::TensorList inputs,
                            const c10::intrusive_ptr<Recomputation>& recomputation) {
    ctx->save_for_backward(inputs.vec());
    ctx->saved_data["recomputation"] = at::IValue::make_capsule(recomputation);
    return recomputation->function(inputs.slice(1), inputs[0]);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto recomputation =
        c10::static_intrusive_pointer_cast<Recomputation>(ctx->saved_data["recomputation"].toCapsule());
    variable_list leaves, wanted;
    for (const at::Tensor& saved : ctx->get_saved_variables()) {
      leaves.push_back(saved.detach().requires_grad_(saved.requires_grad()));
      if (saved.requires_grad()) wanted.push_back(leaves.back());
    }
    const at::Tensor output = recompute(*recomputation, leaves);
    variable_list found =
        torch::autograd::grad({output}, wanted, grads, std::nullopt, false, /*allow_unused=*/true);
    variable_list result;
    size_t next = 0;
    for (const at::Tensor& leaf : leaves)
      result.push_back(leaf.requires_grad() ? found[next++] : at::Tensor());
    result.emplace_back();
    return result;
  }

  static at::Tensor recompute(const Recomputation& recomputation, at::TensorList leaves) {
    const at::AutoGradMode grad_mode(true);
    if (recomputation.random.states.empty()) return recomputation.function(leaves.slice(1), leaves[0]);
    const RandomState present = RandomState::capture(leaves[0].device());
    recomputation.random.restore();
    at::Tensor output = recomputation.function(leaves.slice(1), leaves[0]);
    present.restore();
    return output;
  }
};

at::Tensor checkpointed(const UnitFunction& function, bool random, at::TensorList parameters,
                        const at::Tensor& input) {
  if (!at::GradMode::is_enabled()) return function(parameters, input);
  auto recomputation = c10::make_intrusive<Recomputation>();
  recomputation->function = function;
  if (random) recomputation->random = RandomState::capture(input.device());
  std::vector<at::Tensor> inputs{input};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return Checkpoint::apply(at::TensorList(inputs), recomputation);
}

}  // namespace

CheckpointingRunner::CheckpointingRunner(UnitRunner& next, int64_t every_n_layers)
    : next_(next), every_n_layers_(std::max<int64_t>(1, every_n_layers)) {}

at::Tensor CheckpointingRunner::run(const Unit& unit, at::TensorList parameters, const at::Tensor& input,
                                    const UnitFunction& function) {
  if (unit.repeated && first_repeated_ < 0) first_repeated_ = unit.index;
  if (!unit.repeated || (unit.index - first_repeated_) % every_n_layers_ != 0) {
    return next_.run(unit, parameters, input, function);
  }
  return next_.run(unit, parameters, input,
                   [function, random = unit.random](at::TensorList handed, const at::Tensor& x) {
                     return checkpointed(function, random, handed, x);
                   });
}

}  // namespace hftrain::nn
