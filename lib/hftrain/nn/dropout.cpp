#include "hftrain/nn/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "hftrain/nn/cpu/bernoulli.h"
#include "hftrain/nn/cpu/dropout_kernel.h"

namespace hftrain::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

constexpr int64_t kDropoutGrain = 16384;  // elements that are worth a thread

float inverse_of_kept(double p) {
  return 1.0f / static_cast<float>(1 - p);
}

at::Tensor draw_kept(const at::Tensor& x, double p) {
  at::Tensor kept = at::empty(x.sizes(), x.options().dtype(at::kByte));
  cpu::draw_bernoulli(1 - p, kept.data_ptr<uint8_t>(), kept.numel());
  return kept;
}

at::Tensor masked(const at::Tensor& x, const at::Tensor& kept, double p) {
  at::Tensor out = at::empty_like(x);
  const float* source = x.const_data_ptr<float>();
  const uint8_t* mask = kept.const_data_ptr<uint8_t>();
  float* target = out.data_ptr<float>();
  at::parallel_for(0, x.numel(), kDropoutGrain, [&](int64_t begin, int64_t end) {
    cpu::masked_scale(source + begin, mask + begin, inverse_of_kept(p), target + begin, end - begin);
  });
  return out;
}

at::Tensor added(const at::Tensor& residual, const at::Tensor& x, const at::Tensor& kept, double p) {
  at::Tensor out = at::empty_like(x);
  const float* first = residual.const_data_ptr<float>();
  const float* source = x.const_data_ptr<float>();
  const uint8_t* mask = kept.const_data_ptr<uint8_t>();
  float* target = out.data_ptr<float>();
  at::parallel_for(0, x.numel(), kDropoutGrain, [&](int64_t begin, int64_t end) {
    cpu::masked_scale_add(first + begin, source + begin, mask + begin, inverse_of_kept(p), target + begin,
                          end - begin);
  });
  return out;
}

struct Dropout : Function<Dropout> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, double p) {
    const at::Tensor kept = draw_kept(x, p);
    ctx->save_for_backward({kept});
    ctx->saved_data["p"] = p;
    return masked(x, kept, p);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double p = ctx->saved_data["p"].toDouble();
    return {masked(grads[0].contiguous(), ctx->get_saved_variables()[0], p), at::Tensor()};
  }
};

struct AddDropout : Function<AddDropout> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& residual, const at::Tensor& x, double p) {
    const at::Tensor kept = draw_kept(x, p);
    ctx->save_for_backward({kept});
    ctx->saved_data["p"] = p;
    return added(residual, x, kept, p);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double p = ctx->saved_data["p"].toDouble();
    return {grads[0], masked(grads[0].contiguous(), ctx->get_saved_variables()[0], p), at::Tensor()};
  }
};

bool has_loop(const at::Tensor& x, double p) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.is_contiguous() && x.numel() > 0 && p < 1;
}

}  // namespace

at::Tensor dropout(const at::Tensor& x, double p) {
  if (p == 0) return x;
  return has_loop(x, p) ? Dropout::apply(x, p) : at::dropout(x, p, /*train=*/true);
}

at::Tensor add_dropout(const at::Tensor& residual, const at::Tensor& x, double p) {
  const bool alike =
      residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type() && residual.is_contiguous();
  if (p != 0 && alike && has_loop(x, p)) return AddDropout::apply(residual, x, p);
  return residual + dropout(x, p);
}

}  // namespace hftrain::nn
