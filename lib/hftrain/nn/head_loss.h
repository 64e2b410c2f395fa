// The last linear layer of a model and the cross-entropy of its logits in one operator.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "hftrain/nn/kernels.h"
#include "hftrain/nn/loss.h"

namespace hftrain::nn {

// cross_entropy (loss.h) of hidden·weightᵀ (+ bias): hidden [.., C], weight [V, C] (in the dtype of `hidden`, or float32: its
// gradient then is too, rounded no more than the products of a CPU are), bias [V] or undefined,
// targets int64 [..]. The fused form computes the loss and all gradients chunk by chunk, in place of the
// logits, so that the [N, V] logits never exist as a whole. It can be differentiated once. It multiplies by a matrix of a multiple of
// `step` rows (head_matrix.h), which changes no loss and no gradient; unset, as a run has it: of as many as products of the device want. Tests of a CPU set it.
at::Tensor head_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& targets, const LossOptions& options, Kernels kernels,
                     Products products = Products::kAten, std::optional<int64_t> step = {});

// Without gradients: the loss as above, and of every row the place of its largest logit (the first of equals),
// int64 [..] in the shape of `hidden` without C. The fused form finds both chunk by chunk.
struct LossAndBest {
  at::Tensor loss;  // undefined without targets
  at::Tensor best_ids;
};
LossAndBest head_loss_and_best(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias,
                               const at::Tensor& targets, const LossOptions& options, Kernels kernels,
                               Products products = Products::kAten, std::optional<int64_t> step = {});

}  // namespace hftrain::nn
