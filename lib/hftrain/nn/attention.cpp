#include "hftrain/nn/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/scaled_dot_product_attention.h>

namespace hftrain::nn {
namespace {

// True where the key may be seen.
at::Tensor window_mask(int64_t length, int64_t window, const at::TensorOptions& options) {
  const at::Tensor position = at::arange(length, options.dtype(at::kLong));
  const at::Tensor distance = position.unsqueeze(1) - position.unsqueeze(0);
  return (distance >= 0).logical_and(distance < window);
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionOptions& options) {
  const int64_t batch = query.size(0), length = query.size(1);
  const bool cut = options.window && *options.window < length;
  std::optional<at::Tensor> mask;
  if (cut) mask = window_mask(length, *options.window, query.options());
  const bool grouped = key.size(2) != query.size(2);
  const at::Tensor out = at::scaled_dot_product_attention(query.transpose(1, 2), key.transpose(1, 2),
                                                          value.transpose(1, 2), mask, options.dropout,
                                                          /*is_causal=*/!cut, options.scale, grouped);
  return out.transpose(1, 2).reshape({batch, length, -1});
}

}  // namespace hftrain::nn
