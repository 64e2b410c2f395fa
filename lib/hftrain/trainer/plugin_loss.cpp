#include "hftrain/trainer/plugin_loss.h"

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
      return result.reshape({});
    });
  };
}

}  // namespace hftrain::trainer
