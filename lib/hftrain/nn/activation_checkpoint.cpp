#include "hftrain/nn/activation_checkpoint.h"

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <algorithm>
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

// Which tensors of a list are there: a graph's node takes and gives no undefined ones.
struct Present {
  std::vector<bool> places;

  Present() = default;
  explicit Present(at::TensorList list) {
    for (const at::Tensor& tensor : list) places.push_back(tensor.defined());
  }
  static variable_list of(at::TensorList list) {
    variable_list result;
    for (const at::Tensor& tensor : list) {
      if (tensor.defined()) result.push_back(tensor);
    }
    return result;
  }
  // The list that they were taken from.
  variable_list restored(at::TensorList present) const {
    variable_list result;
    size_t next = 0;
    for (const bool there : places) result.push_back(there ? present[next++] : at::Tensor());
    return result;
  }
};

// A copy in host memory, from which it goes back without anybody waiting.
at::Tensor in_host_memory(const at::Tensor& tensor) {
  const auto options = tensor.options().device(at::kCPU).pinned_memory(!tensor.is_cpu());
  return at::empty(tensor.sizes(), options).copy_(tensor, /*non_blocking=*/true);
}

// Carried by the graph from forward to backward.
struct Recomputation : torch::CustomClassHolder {
  UnitFunction function;
  bool offload = false;
  std::vector<bool> wanted;  // of what was given and is there: its gradient
  size_t input_count = 0;
  Present given;       // of the inputs and then the parameters
  Present outputs;     // known after the forward
  RandomState random;  // empty for a unit that draws nothing

  size_t inputs_there() const {
    return static_cast<size_t>(std::count(
        given.places.begin(), given.places.begin() + static_cast<std::ptrdiff_t>(input_count), true));
  }

  variable_list call(at::TensorList present) const {
    const variable_list all = given.restored(present);
    const at::TensorList list(all);
    return function(list.slice(input_count), list.slice(0, input_count));
  }
};

// Takes the unit's inputs and its parameters, so that gradients of both flow through the outer graph (a
// std::vector argument would lose them without a word).
struct Checkpoint : Function<Checkpoint> {
  static variable_list forward(AutogradContext* ctx, at::TensorList given,
                               const c10::intrusive_ptr<Recomputation>& recomputation) {
    variable_list kept = given.vec();
    // Parameters are not: they are there in any case. Nor is what all blocks share (masks).
    for (size_t i = 0; recomputation->offload && i < recomputation->inputs_there(); ++i) {
      if (recomputation->wanted[i]) kept[i] = in_host_memory(kept[i]);
    }
    ctx->save_for_backward(std::move(kept));
    ctx->set_materialize_grads(false);
    ctx->saved_data["recomputation"] = at::IValue::make_capsule(recomputation);
    const variable_list outputs = recomputation->call(given);
    recomputation->outputs = Present(outputs);
    return Present::of(outputs);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto recomputation =
        c10::static_intrusive_pointer_cast<Recomputation>(ctx->saved_data["recomputation"].toCapsule());
    variable_list leaves, wanted;
    const variable_list kept = ctx->get_saved_variables();
    const at::Device device = kept.back().device();  // of a parameter
    for (size_t i = 0; i < kept.size(); ++i) {
      const bool wants = recomputation->wanted[i];
      leaves.push_back(kept[i].detach().to(device, /*non_blocking=*/true).requires_grad_(wants));
      if (wants) wanted.push_back(leaves.back());
    }
    variable_list found = gradients(recompute(*recomputation, leaves), wanted, grads);
    variable_list result;
    size_t next = 0;
    for (const at::Tensor& leaf : leaves)
      result.push_back(leaf.requires_grad() ? found[next++] : at::Tensor());
    result.emplace_back();
    return result;
  }

  // From the outputs that a gradient came for.
  static variable_list gradients(const variable_list& outputs, const variable_list& wanted,
                                 const variable_list& grads) {
    variable_list roots, seeds;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!grads[i].defined() || !outputs[i].requires_grad()) continue;
      roots.push_back(outputs[i]);
      seeds.push_back(grads[i]);
    }
    if (roots.empty()) return variable_list(wanted.size());
    return torch::autograd::grad(roots, wanted, seeds, std::nullopt, false, /*allow_unused=*/true);
  }

  static variable_list recompute(const Recomputation& recomputation, at::TensorList leaves) {
    const at::AutoGradMode grad_mode(true);
    if (recomputation.random.states.empty()) return Present::of(recomputation.call(leaves));
    const RandomState present = RandomState::capture(leaves[0].device());
    recomputation.random.restore();
    variable_list outputs = Present::of(recomputation.call(leaves));
    present.restore();
    return outputs;
  }
};

variable_list checkpointed(const UnitFunction& function, bool random, bool offload, at::TensorList parameters,
                           at::TensorList inputs) {
  if (!at::GradMode::is_enabled()) return function(parameters, inputs);
  variable_list given = inputs.vec();
  given.insert(given.end(), parameters.begin(), parameters.end());
  auto recomputation = c10::make_intrusive<Recomputation>();
  recomputation->function = function;
  recomputation->input_count = inputs.size();
  recomputation->given = Present(given);
  given = Present::of(given);
  recomputation->offload = offload;
  for (const at::Tensor& tensor : given) recomputation->wanted.push_back(tensor.requires_grad());
  if (random) recomputation->random = RandomState::capture(given.front().device());
  const variable_list outputs = Checkpoint::apply(at::TensorList(given), recomputation);
  return recomputation->outputs.restored(outputs);
}

}  // namespace

CheckpointingRunner::CheckpointingRunner(UnitRunner& next, int64_t every_n_layers, bool offload)
    : next_(next), every_n_layers_(std::max<int64_t>(1, every_n_layers)), offload_(offload) {}

std::vector<at::Tensor> CheckpointingRunner::run(const Unit& unit, at::TensorList parameters,
                                                 at::TensorList inputs, const UnitFunction& function) {
  if (!unit.repeated) return next_.run(unit, parameters, inputs, function);
  const auto number = numbers_.try_emplace(unit.index, static_cast<int64_t>(numbers_.size())).first->second;
  if (number % every_n_layers_ != 0) return next_.run(unit, parameters, inputs, function);
  return next_.run(
      unit, parameters, inputs,
      [function, random = unit.random, offload = offload_](at::TensorList handed, at::TensorList given) {
        return checkpointed(function, random, offload, handed, given);
      });
}

}  // namespace hftrain::nn
