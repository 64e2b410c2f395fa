#include "hftrain/nn/norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

#include "hftrain/nn/accumulation.h"
#include "hftrain/nn/module_observer.h"
#include "hftrain/nn/ops.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

struct RmsNorm : Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double eps) {
    auto [out, rstd] = ops::rms_norm(x, weight, eps);
    ctx->save_for_backward({x, weight, rstd});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    auto [grad_x, grad_weight] = ops::rms_norm_backward(grads[0].contiguous(), saved[0], saved[1], saved[2]);
    return {grad_x, grad_weight, at::Tensor()};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  return observed("LayerNorm", {weight, bias}, {x}, at::layer_norm(x, {x.size(-1)}, weight, bias, eps));
}

at::Tensor rms_norm_of_library(const at::Tensor& x, const at::Tensor& weight, double eps) {
  return std::get<0>(at::_fused_rms_norm(x.contiguous(), {x.size(-1)}, weight, eps));
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, Kernels kernels) {
  if (kernels == Kernels::kFused && ops::has_kernel(ops::Operator::kRmsNorm, x, weight)) {
    return observed("RMSNorm", {weight}, {x}, RmsNorm::apply(x.contiguous(), weight.contiguous(), eps));
  }
  if (kernels != Kernels::kReference && !x.is_cpu() && weight.scalar_type() == x.scalar_type())
    return observed("RMSNorm", {weight}, {x}, rms_norm_of_library(x, weight, eps));
  const at::Tensor wide = x.to(accumulation_dtype(x));
  return observed("RMSNorm", {weight}, {x},
                  weight * (wide * at::rsqrt((wide * wide).mean({-1}, true) + eps)).to(x.scalar_type()));
}

}  // namespace hftrain::nn
