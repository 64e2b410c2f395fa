// The head of a causal language model and its loss in one operator.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

struct CausalLossOptions {
  at::Tensor num_items;          // scalar: divisor of the summed loss; undefined: the labels that count
  double label_smoothing = 0.0;  // ε of training_loop.md 7.8
};

// Labels that are left out of the loss and of its mean.
constexpr int64_t kIgnoreIndex = -100;

// hidden [B, T, C], weight [V, C], labels [B, T] (int64). Position t predicts labels[t + 1]; the last
// position and labels of -100 do not count. Returns a float32 scalar:
//   Σ ((1 − ε)·(−log p[label]) + ε·mean over V of (−log p)) / N, softmax in float32.
// The fused form computes the loss and both gradients chunk by chunk, in place of the logits, so that the
// [B·T, V] logits never exist as a whole.
at::Tensor causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                          const CausalLossOptions& options, Kernels kernels);

// The same from finished logits [B, T, V].
at::Tensor causal_lm_loss_from_logits(const at::Tensor& logits, const at::Tensor& labels,
                                      const CausalLossOptions& options);

}  // namespace hftrain::nn
