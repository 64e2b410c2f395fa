#include "hftrain/trainer/plugin_loss.h"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace hftrain::trainer {

void check_loss(const at::Tensor& loss) {
  if (loss.defined() && loss.numel() == 1 && loss.scalar_type() == at::kFloat) return;
  throw std::runtime_error("its loss is no float32 scalar: " +
                           (loss.defined() ? "it has " + std::to_string(loss.numel()) + " numbers of " +
                                                 c10::toString(loss.scalar_type())
                                           : std::string("the tensor is undefined")));
}

namespace {

// Where gradients are wanted. LibTorch would say so in its own words, and of no loss.
void check_gradient(const at::Tensor& loss) {
  if (!at::GradMode::is_enabled() || loss.requires_grad()) return;
  throw std::runtime_error(
      "no gradient flows from its loss to the model: it is not made of the logits or the model's loss, or is "
      "cut off from them (detach(), item(), argmax(), a NoGradGuard)");
}

}  // namespace

models::OwnLoss plugin_loss(PluginPart part, plugin::Loss loss, const char* doing) {
  return [part = std::move(part), loss = std::move(loss), doing](const models::OwnLossInput& input) {
    return part.call(doing, [&] {
      const models::Batch& batch = input.batch;
      const at::Tensor result = loss({.logits = input.logits,
                                      .model_loss = input.model_loss,
                                      .labels = batch.labels,
                                      .start_positions = batch.start_positions,
                                      .end_positions = batch.end_positions,
                                      .input_ids = batch.input_ids,
                                      .attention_mask = batch.attention_mask,
                                      .num_items = input.num_items});
      check_loss(result);
      check_gradient(result);
      return result.reshape({});
    });
  };
}

}  // namespace hftrain::trainer
