// Causal self-attention on projected queries, keys and values.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace hftrain::nn {

struct AttentionOptions {
  double scale = 1.0;             // multiplies the scores
  double dropout = 0.0;           // of the weights; 0 outside training
  std::optional<int64_t> window;  // key j is seen by query i when i - window < j <= i; unset: all j <= i
};

// query [B, T, H, d], key and value [B, T, K, d] with H a multiple of K: key head j serves the H/K
// consecutive query heads from j·(H/K). Returns [B, T, H·d]. The fused kernels of ATen are used whenever no
// window cuts and no dropout (on CPU) forbids it.
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionOptions& options);

}  // namespace hftrain::nn
