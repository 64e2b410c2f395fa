// The loss of a causal language model: position t predicts labels[t + 1]; the last position and labels of
// kIgnoreIndex do not count.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/head_loss.h"

namespace hftrain::nn {

using CausalLossOptions = LossOptions;

// head_loss of hidden [B, T, C] and weight [V, C] with labels [B, T] (int64).
at::Tensor causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                          const CausalLossOptions& options, Kernels kernels,
                          Products products = Products::kAten);

// The same without gradients, and the best id of every position (head_loss.h).
LossAndBest causal_lm_loss_and_best(const at::Tensor& hidden, const at::Tensor& weight,
                                    const at::Tensor& labels, const CausalLossOptions& options,
                                    Kernels kernels, Products products = Products::kAten);

// The same from finished logits [B, T, V].
at::Tensor causal_lm_loss_from_logits(const at::Tensor& logits, const at::Tensor& labels,
                                      const CausalLossOptions& options);

}  // namespace hftrain::nn
