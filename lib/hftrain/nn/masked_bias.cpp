#include "hftrain/nn/masked_bias.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/where.h>

#include <limits>

#include "hftrain/nn/order_mask.h"

namespace hftrain::nn {
namespace {

constexpr int64_t kAlignedNumbers = 8;

// Undefined where nothing is hidden.
at::Tensor seen_places(const at::Tensor& bias, const at::Tensor& padding, bool causal) {
  at::Tensor seen;
  if (padding.defined()) seen = padding.to(at::kBool).unsqueeze(1).unsqueeze(1);
  if (!causal) return seen;
  const at::Tensor behind = order_mask({.queries = bias.size(2), .keys = bias.size(3)}, bias.device());
  return seen.defined() ? seen.logical_and(behind) : behind;
}

}  // namespace

double least_number(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return static_cast<double>(std::numeric_limits<at::Half>::lowest());
    case at::kBFloat16:
      return static_cast<double>(std::numeric_limits<at::BFloat16>::lowest());
    case at::kDouble:
      return std::numeric_limits<double>::lowest();
    default:
      return static_cast<double>(std::numeric_limits<float>::lowest());
  }
}

at::Tensor masked_bias(const at::Tensor& bias, const at::Tensor& padding, bool causal, at::ScalarType dtype) {
  const int64_t keys = bias.size(3), over = (kAlignedNumbers - keys % kAlignedNumbers) % kAlignedNumbers;
  at::Tensor sum = bias.to(dtype).contiguous();
  const at::Tensor seen = seen_places(bias, padding, causal);
  if (seen.defined()) sum = at::where(seen, sum, least_number(dtype));
  return over == 0 ? sum : at::constant_pad_nd(sum, {0, over}).narrow(-1, 0, keys);
}

}  // namespace hftrain::nn
