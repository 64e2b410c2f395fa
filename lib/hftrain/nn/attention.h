// Attention of projected queries over projected keys and values: causal or not, over the same sequence or
// another (cross-attention), with padding and with a bias on the scores.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "hftrain/nn/kernels.h"
#include "hftrain/nn/shared_masks.h"

namespace hftrain::nn {

struct AttentionOptions {
  double scale = 1.0;    // multiplies the scores
  double dropout = 0.0;  // of the weights; 0 outside training
  // causal: of the keys that a query may see (its own and those before it) only that many; unset: all
  std::optional<int64_t> window = {};
  Products products =
      Products::kQuickest;  // of the scores and what follows: LibTorch's, or by cpu/block_attention.h
};

// What a query of a sequence of T may see of a sequence of S, and what is added to its scores.
struct AttentionMask {
  bool causal = false;  // key j is hidden from query i when j > past + i
  at::Tensor padding;   // [B, S], bool or integers, 0 where there is no token; undefined: all are tokens
  at::Tensor
      bias;  // [1 or B, 1 or H, T, S], added to the scaled scores; may require a gradient; undefined: none
  int64_t past = 0;  // causal: keys that stand before the first query's own
  // causal, T = S, nothing else given: lengths of the documents in the rows, one row after another, that see nothing of each
  // other (a block-diagonal mask which is nowhere made). Empty: every row is one.
  std::vector<int64_t> documents = {};
  // Whether the bias will need a gradient, though this pass may record none: one that is repeated in the backward pass
  // then computes the same bits both times.
  bool bias_learns = false;
  // On a GPU: what the layers of this pass share of their masks. Null: each makes its own.
  std::shared_ptr<SharedMasks> shared = {};
};

// query [B, T, H, d], key and value [B, S, K, d] with H a multiple of K: key head j serves the H/K
// consecutive query heads from j·(H/K). Returns [B, T, H·d]. A query that sees no key gets zeros; with a bias
// the mean of all values (transformers' SDPA functions do the same: boolean masks there, the dtype's least
// number here). The fused kernels of ATen are used whenever no bias, no dropout (on CPU) and no mask that
// hides something forbid it; a padding that hides nothing is looked through on the CPU, and should be left
// undefined on a GPU. Behind `past` keys each query has the bits that it has without the others.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const AttentionMask& mask, const AttentionOptions& options);

// Causal attention over one sequence without padding: attention() with nothing but `causal`.
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const AttentionOptions& options);

}  // namespace hftrain::nn
