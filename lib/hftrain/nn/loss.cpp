#include "hftrain/nn/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>

#include "hftrain/base/error.h"
#include "hftrain/nn/accumulation.h"

namespace hftrain::nn {
namespace {

// sum / N, N being all elements unless it is given.
at::Tensor per_element(const at::Tensor& sum, int64_t elements, const LossOptions& options) {
  if (!options.num_items.defined()) return sum / static_cast<double>(elements);
  return sum / options.num_items.to(sum.device(), sum.scalar_type()).reshape({});
}

}  // namespace

void require_targets_in_range(const at::Tensor& targets, int64_t classes) {
  if (!targets.is_cpu()) return;
  const at::Tensor flat = targets.contiguous();
  const int64_t* t = flat.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    if (t[i] == kIgnoreIndex || (t[i] >= 0 && t[i] < classes)) continue;
    throw Error(ExitCode::kData, "label " + std::to_string(t[i]) + " is out of range")
        .why("the model has " + std::to_string(classes) + " outputs: labels are 0 to " +
             std::to_string(classes - 1) + ", and -100 for none")
        .hint("use the tokenizer, or the list of labels, that belongs to the model");
  }
}

at::Tensor target_count(const at::Tensor& targets, const LossOptions& options, at::ScalarType dtype) {
  if (options.num_items.defined()) return options.num_items.to(targets.device(), dtype).reshape({});
  return (targets != kIgnoreIndex).sum().to(dtype);
}

at::Tensor row_losses(const at::Tensor& log_probabilities, const at::Tensor& targets, double smoothing) {
  const at::Tensor counted = targets != kIgnoreIndex;
  const at::Tensor safe = targets.clamp_min(0).unsqueeze(1);
  at::Tensor loss = -log_probabilities.gather(1, safe).squeeze(1);
  if (smoothing != 0) loss = loss * (1 - smoothing) - log_probabilities.mean(1) * smoothing;
  return loss * counted;
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets, const LossOptions& options) {
  const at::Tensor flat = targets.reshape({-1});
  const int64_t classes = logits.size(-1);
  require_targets_in_range(flat, classes);
  const at::ScalarType dtype = accumulation_dtype(logits);
  const at::Tensor log_probabilities = at::log_softmax(logits.reshape({-1, classes}), 1, dtype);
  at::Tensor losses = row_losses(log_probabilities, flat, options.label_smoothing);
  if (options.by_probability) losses = losses * losses.detach().neg().exp();
  return losses.sum() / target_count(flat, options, dtype);
}

at::Tensor mean_squared_error(const at::Tensor& predictions, const at::Tensor& targets,
                              const LossOptions& options) {
  const at::ScalarType dtype = accumulation_dtype(predictions);
  return per_element(at::mse_loss(predictions.to(dtype), targets.to(dtype), at::Reduction::Sum),
                     predictions.numel(), options);
}

at::Tensor sigmoid_cross_entropy(const at::Tensor& logits, const at::Tensor& targets,
                                 const LossOptions& options) {
  const at::ScalarType dtype = accumulation_dtype(logits);
  return per_element(
      at::binary_cross_entropy_with_logits(logits.to(dtype), targets.to(dtype), {}, {}, at::Reduction::Sum),
      logits.numel(), options);
}

}  // namespace hftrain::nn
