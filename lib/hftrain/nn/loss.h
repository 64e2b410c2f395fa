// Losses of finished predictions. Each is a sum over what counts, divided by the number of items of the whole
// update where that is given (so that micro-batches and ranks add up to the mean), else by what counted here.
// All return a float32 scalar and compute in float32 whatever the dtype (float64 for float64).
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Targets that are left out of a cross-entropy and of its mean.
constexpr int64_t kIgnoreIndex = -100;

struct LossOptions {
  at::Tensor num_items;          // scalar: divisor of the summed loss; undefined: what counts here
  double label_smoothing = 0.0;  // ε of transformers' LabelSmoother; of cross-entropies
  // Of cross-entropies: each row's loss is multiplied by e^-loss, the probability of its target, through which no
  // gradient flows (dynamic fine-tuning, arXiv 2508.05629). Without smoothing.
  bool by_probability = false;
};

// logits [.., V], targets int64 [..], each 0 … V − 1 or kIgnoreIndex (else, on the CPU, an Error, exit code
// 4):
//   Σ ((1 − ε)·(−log p[target]) + ε·mean over V of (−log p)) / N, softmax over V.
// N without num_items: the targets that count; with none of them the loss is NaN, as in PyTorch.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, const LossOptions& options);

// Σ (prediction − target)² / N, shapes alike; N without num_items: all elements.
at::Tensor mean_squared_error(const at::Tensor& predictions, const at::Tensor& targets,
                              const LossOptions& options);

// Σ −(t·log σ(x) + (1 − t)·log(1 − σ(x))) / N for targets t in 0 … 1 of the logits' shape; N without
// num_items: all elements.
at::Tensor sigmoid_cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                                 const LossOptions& options);

// N of a cross-entropy, a scalar of `dtype` on the targets' device.
at::Tensor target_count(const at::Tensor& targets, const LossOptions& options, at::ScalarType dtype);

// The losses of the rows of log_probabilities [N, V], undivided; of rows without a target 0.
at::Tensor row_losses(const at::Tensor& log_probabilities, const at::Tensor& targets, double smoothing);

// The Error of targets out of range; checks those on the CPU alone, as a GPU would have to be waited for.
void require_targets_in_range(const at::Tensor& targets, int64_t classes);

}  // namespace hftrain::nn
