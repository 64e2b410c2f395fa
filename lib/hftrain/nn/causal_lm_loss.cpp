#include "hftrain/nn/causal_lm_loss.h"

#include <ATen/ops/full_like.h>

namespace hftrain::nn {
namespace {

// The label of every position, [B·T]: that of the next token, and none for the last.
at::Tensor shifted_targets(const at::Tensor& labels) {
  at::Tensor targets = at::full_like(labels, kIgnoreIndex, at::MemoryFormat::Contiguous);
  const int64_t length = labels.size(1);
  targets.narrow(1, 0, length - 1).copy_(labels.narrow(1, 1, length - 1));
  return targets.view(-1);
}

}  // namespace

at::Tensor causal_lm_loss_from_logits(const at::Tensor& logits, const at::Tensor& labels,
                                      const CausalLossOptions& options) {
  return cross_entropy(logits, shifted_targets(labels), options);
}

at::Tensor causal_lm_loss(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                          const CausalLossOptions& options, Kernels kernels, Products products) {
  return head_loss(hidden, weight, at::Tensor(), shifted_targets(labels), options, kernels, products);
}

LossAndBest causal_lm_loss_and_best(const at::Tensor& hidden, const at::Tensor& weight,
                                    const at::Tensor& labels, const CausalLossOptions& options,
                                    Kernels kernels, Products products) {
  return head_loss_and_best(hidden, weight, at::Tensor(), shifted_targets(labels), options, kernels,
                            products);
}

}  // namespace hftrain::nn
