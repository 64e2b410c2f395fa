#include "hftrain/nn/norm.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "hftrain/nn/cpu/rms_norm_kernel.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr int64_t kNormGrain = 8192;  // elements that are worth a thread

struct RmsNorm : Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, double eps) {
    const int64_t width = x.size(-1), rows = x.numel() / width;
    at::Tensor out = at::empty_like(x), rstd = at::empty({rows}, x.options());
    const float* source = x.const_data_ptr<float>();
    const float* scale = weight.const_data_ptr<float>();
    float* target = out.data_ptr<float>();
    float* kept = rstd.data_ptr<float>();
    at::parallel_for(0, rows, std::max<int64_t>(1, kNormGrain / width), [&](int64_t begin, int64_t end) {
      cpu::rms_norm(source + begin * width, scale, target + begin * width, kept + begin, end - begin, width,
                    static_cast<float>(eps));
    });
    ctx->save_for_backward({x, weight, rstd});
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const int64_t width = saved[0].size(-1), rows = saved[2].numel();
    const at::Tensor grad = grads[0].contiguous();
    at::Tensor grad_x = at::empty_like(saved[0]);
    at::Tensor partial = at::zeros({at::get_num_threads(), width}, grad.options());
    const float* d = grad.const_data_ptr<float>();
    const float* x = saved[0].const_data_ptr<float>();
    const float* weight = saved[1].const_data_ptr<float>();
    const float* rstd = saved[2].const_data_ptr<float>();
    float* dx = grad_x.data_ptr<float>();
    float* dw = partial.data_ptr<float>();
    at::parallel_for(0, rows, std::max<int64_t>(1, kNormGrain / width), [&](int64_t begin, int64_t end) {
      const int64_t at = begin * width;
      cpu::rms_norm_backward(d + at, x + at, weight, rstd + begin, dx + at, dw + at::get_thread_num() * width,
                             end - begin, width);
    });
    return {grad_x, partial.sum(0), at::Tensor()};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, Kernels kernels) {
  const bool fits = x.is_cpu() && x.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat;
  if (kernels == Kernels::kFused && fits) return RmsNorm::apply(x.contiguous(), weight.contiguous(), eps);
  const at::Tensor wide = x.to(at::kFloat);
  return weight * (wide * at::rsqrt((wide * wide).mean({-1}, true) + eps)).to(x.scalar_type());
}

}  // namespace hftrain::nn
