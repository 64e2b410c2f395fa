#include "hftrain/nn/row_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/max.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/softmax.h>

#include <limits>

#include "hftrain/nn/accumulation.h"
#include "hftrain/nn/loss.h"

namespace hftrain::nn {
namespace {

struct LossesOfRows {
  at::Tensor each;           // [n], 0 where no label counts
  at::Tensor probabilities;  // [n, ≥ V]
};

// A pass less over the logits than by log_softmax, whose exponential would be taken again: what the logarithm of a probability is
// missing to its logit is the same for all of a row, and is read off the largest, which never underflows.
LossesOfRows plain_losses(const at::Tensor& logits, const at::Tensor& targets, at::ScalarType dtype) {
  at::Tensor probabilities = at::softmax(logits, 1, dtype);
  const auto [largest, place] = probabilities.max(1, /*keepdim=*/true);
  const at::Tensor of_row = logits.gather(1, place).to(dtype).sub_(largest.log());
  const at::Tensor of_target = logits.gather(1, targets.clamp_min(0).unsqueeze(1));
  at::Tensor losses = (of_row - of_target).squeeze(1) * (targets != kIgnoreIndex);
  return {std::move(losses), std::move(probabilities)};
}

// Smoothing asks for the logarithms of all.
LossesOfRows smoothed_losses(const at::Tensor& logits, int64_t vocab, const at::Tensor& targets,
                             at::ScalarType dtype, double smoothing) {
  at::Tensor log_probabilities = at::log_softmax(logits, 1, dtype);
  at::Tensor losses = row_losses(log_probabilities.narrow(1, 0, vocab), targets, smoothing);
  return {std::move(losses), log_probabilities.exp_()};
}

}  // namespace

at::Tensor composed_rows(const at::Tensor& logits, int64_t vocab, const at::Tensor& targets,
                         const at::Tensor& scale, const RowLoss& kind, at::Tensor gradient) {
  const at::ScalarType dtype = accumulation_dtype(logits);
  const int64_t behind = logits.size(1) - vocab;
  if (behind > 0) logits.narrow(1, vocab, behind).fill_(-std::numeric_limits<double>::infinity());
  auto [losses, grad] = kind.smoothing == 0 ? plain_losses(logits, targets, dtype)
                                            : smoothed_losses(logits, vocab, targets, dtype, kind.smoothing);
  const at::Tensor weights = kind.by_probability ? losses.neg().exp_() : at::Tensor();
  at::Tensor loss = (kind.by_probability ? losses * weights : losses).sum();
  if (!gradient.defined()) return loss;
  if (kind.smoothing != 0) grad.narrow(1, 0, vocab).sub_(kind.smoothing / static_cast<double>(vocab));
  const at::Tensor index = targets.clamp_min(0).unsqueeze(1);
  grad.scatter_add_(1, index, at::full_like(index, kind.smoothing - 1, grad.options()));
  at::Tensor factors = (targets != kIgnoreIndex).to(dtype).mul_(scale);
  if (kind.by_probability) factors.mul_(weights);
  at::mul_out(gradient, grad, factors.unsqueeze(1));  // rounded on the way, in one pass
  return loss;
}

}  // namespace hftrain::nn
