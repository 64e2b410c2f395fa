#include "hftrain/nn/shared_masks.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace hftrain::nn {
namespace {

constexpr int64_t kAlignment = 8;  // numbers; of another width LibTorch makes a copy at each call

at::Tensor as_scores(const at::Tensor& seen, at::ScalarType dtype) {
  std::vector<int64_t> sizes = seen.sizes().vec();
  const int64_t keys = sizes.back();
  sizes.back() = (keys + kAlignment - 1) / kAlignment * kAlignment;
  return at::zeros(sizes, seen.options().dtype(dtype))
      .narrow(-1, 0, keys)
      .masked_fill_(seen == 0, -std::numeric_limits<double>::infinity());
}

}  // namespace

at::Tensor SharedMasks::get(const at::Tensor& padding, const std::optional<Order>& order,
                            at::ScalarType dtype, at::Device device) {
  const int64_t keys = order ? order->keys : padding.size(1);
  for (const Made& each : made_) {
    if (each.order == order && each.dtype == dtype && each.keys == keys) return each.mask;
  }
  const at::NoGradGuard no_grad;
  at::Tensor seen;
  if (padding.defined()) seen = padding.to(at::kBool).unsqueeze(1).unsqueeze(1);
  if (order) {
    const at::Tensor behind = order_mask(*order, device);
    seen = seen.defined() ? seen.logical_and(behind) : behind;
  }
  return made_.emplace_back(order, dtype, keys, as_scores(seen, dtype)).mask;
}

const DocumentBounds& SharedMasks::bounds(const std::vector<int64_t>& documents, at::Device device) {
  if (!bounds_) bounds_ = bounds_of(documents, device);
  return *bounds_;
}

}  // namespace hftrain::nn
