#include "hftrain/nn/activation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/nn/ops.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr std::array<std::pair<const char*, Activation>, 9> kActivations{{
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"relu", Activation::kRelu},
    {"quick_gelu", Activation::kQuickGelu},
    {"tanh", Activation::kTanh},
}};

struct Gelu : Function<Gelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    ctx->save_for_backward({x});
    return ops::gelu(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {ops::gelu_backward(grads[0].contiguous(), ctx->get_saved_variables()[0])};
  }
};

struct GeluTanh : Function<GeluTanh> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    ctx->save_for_backward({x});
    return ops::gelu_tanh(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {ops::gelu_tanh_backward(grads[0].contiguous(), ctx->get_saved_variables()[0])};
  }
};

// silu(gate)·up
struct Swiglu : Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    return ops::swiglu(gate, up);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    auto [grad_gate, grad_up] = ops::swiglu_backward(grads[0].contiguous(), saved[0], saved[1]);
    return {grad_gate, grad_up};
  }
};

}  // namespace

Activation activation_by_name(const std::string& name) {
  std::string known;
  for (const auto& [key, activation] : kActivations) {
    if (name == key) return activation;
    known += known.empty() ? key : std::string(", ") + key;
  }
  throw Error(ExitCode::kData, "unknown activation function \"" + name + "\"")
      .where("the model's config.json")
      .why("hftrain has no function of that name")
      .hint("known ones: " + known);
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, activation] : kActivations) all.emplace_back(name);
    return all;
  }();
  return names;
}

Kernels keeps_bits(Activation activation, Kernels kernels) {
  return activation == Activation::kGelu ? Kernels::kReference : kernels;
}

at::Tensor activate(Activation activation, const at::Tensor& x, Kernels kernels) {
  switch (activation) {
    case Activation::kGelu:
      if (kernels == Kernels::kFused && ops::has_kernel(ops::Operator::kGelu, x)) {
        return Gelu::apply(x.contiguous());
      }
      return at::gelu(x);
    case Activation::kGeluTanh:
      if (kernels == Kernels::kFused && ops::has_kernel(ops::Operator::kGeluTanh, x)) {
        return GeluTanh::apply(x.contiguous());
      }
      return at::gelu(x, "tanh");
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
  }
  throw Error(ExitCode::kInternal, "an activation function has no formula");
}

at::Tensor gated(Activation activation, const at::Tensor& gate, const at::Tensor& up,
                 const KernelChoice& kernels) {
  const bool fused = kernels.swiglu == Kernels::kFused && activation == Activation::kSilu;
  if (fused && gate.sizes() == up.sizes() && ops::has_kernel(ops::Operator::kSwiglu, gate, up)) {
    return Swiglu::apply(gate.contiguous(), up.contiguous());
  }
  return activate(activation, gate, keeps_bits(activation, kernels.geglu)) * up;
}

}  // namespace hftrain::nn
