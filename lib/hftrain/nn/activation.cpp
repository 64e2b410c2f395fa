#include "hftrain/nn/activation.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/nn/cpu/gelu_kernel.h"
#include "hftrain/nn/cpu/swiglu_kernel.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr int64_t kActivationGrain = 16384;  // elements that are worth a thread

constexpr std::array<std::pair<const char*, Activation>, 8> kActivations{{
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"relu", Activation::kRelu},
    {"quick_gelu", Activation::kQuickGelu},
}};

// Tanh gelu on contiguous float32 of the CPU.
struct GeluTanh : Function<GeluTanh> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    ctx->save_for_backward({x});
    at::Tensor out = at::empty_like(x);
    const float* source = x.const_data_ptr<float>();
    float* target = out.data_ptr<float>();
    at::parallel_for(0, x.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
      cpu::gelu_tanh(source + begin, target + begin, end - begin);
    });
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const at::Tensor grad = grads[0].contiguous();
    at::Tensor grad_x = at::empty_like(x);
    const float* d = grad.const_data_ptr<float>();
    const float* source = x.const_data_ptr<float>();
    float* dx = grad_x.data_ptr<float>();
    at::parallel_for(0, x.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
      cpu::gelu_tanh_backward(d + begin, source + begin, dx + begin, end - begin);
    });
    return {grad_x};
  }
};

// silu(gate)·up on contiguous float32 of the CPU.
struct Swiglu : Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    at::Tensor out = at::empty_like(gate);
    const float* g = gate.const_data_ptr<float>();
    const float* u = up.const_data_ptr<float>();
    float* o = out.data_ptr<float>();
    at::parallel_for(0, gate.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
      cpu::swiglu(g + begin, u + begin, o + begin, end - begin);
    });
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor grad = grads[0].contiguous();
    at::Tensor grad_gate = at::empty_like(saved[0]), grad_up = at::empty_like(saved[1]);
    const float* d = grad.const_data_ptr<float>();
    const float* g = saved[0].const_data_ptr<float>();
    const float* u = saved[1].const_data_ptr<float>();
    float* dg = grad_gate.data_ptr<float>();
    float* du = grad_up.data_ptr<float>();
    at::parallel_for(0, grad.numel(), kActivationGrain, [&](int64_t begin, int64_t end) {
      cpu::swiglu_backward(d + begin, g + begin, u + begin, dg + begin, du + begin, end - begin);
    });
    return {grad_gate, grad_up};
  }
};

bool fits_kernel(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous();
}

}  // namespace

Activation activation_by_name(const std::string& name) {
  std::string known;
  for (const auto& [key, activation] : kActivations) {
    if (name == key) return activation;
    known += known.empty() ? key : std::string(", ") + key;
  }
  throw Error(ExitCode::kData, "unknown activation function \"" + name + "\"").hint("known ones: " + known);
}

at::Tensor activate(Activation activation, const at::Tensor& x, Kernels kernels) {
  switch (activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return kernels == Kernels::kFused && fits_kernel(x) ? GeluTanh::apply(x) : at::gelu(x, "tanh");
    case Activation::kSilu:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kQuickGelu:
      return x * at::sigmoid(x * 1.702);
  }
  throw Error(ExitCode::kInternal, "an activation function has no formula");
}

at::Tensor gated(Activation activation, const at::Tensor& gate, const at::Tensor& up, Kernels kernels) {
  const bool fused = kernels == Kernels::kFused && activation == Activation::kSilu;
  if (fused && fits_kernel(gate) && fits_kernel(up)) return Swiglu::apply(gate, up);
  return activate(activation, gate, kernels) * up;
}

}  // namespace hftrain::nn
