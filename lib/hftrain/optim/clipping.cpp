#include "hftrain/optim/clipping.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

namespace hftrain::optim {
namespace {

// As torch's clip_grad_norm_. NaN for a NaN norm.
at::Tensor shrinking(const at::Tensor& norm, double max_norm) {
  return (max_norm / (norm + 1e-6)).clamp_max(1.0);
}

}  // namespace

Clipping clipping_of(const at::Tensor& squares, double max_norm, const at::Tensor& loss_scale) {
  const at::NoGradGuard no_grad;
  if (!loss_scale.defined()) {
    const at::Tensor norm = squares.sqrt().to(at::kFloat);
    return {norm, max_norm > 0 ? shrinking(norm, max_norm) : at::Tensor()};
  }
  const at::Tensor inverse = loss_scale.to(at::kDouble).reciprocal();
  const at::Tensor norm = (squares.sqrt() * inverse).to(at::kFloat);
  const at::Tensor factor = inverse.to(at::kFloat);
  return {norm, max_norm > 0 ? factor * shrinking(norm, max_norm) : factor};
}

}  // namespace hftrain::optim
