// A loss in the place of the model's own (transformers' compute_loss_func). Who computes one includes LibTorch, too.
#pragma once

#include <functional>

namespace at {
class Tensor;
}

namespace hftrain::plugin {

// B rows of T places, L numbers at each. A tensor that the task does not have is undefined.
struct LossInput {
  // [B, T, L] or [B, L], in the dtype that the model computes in; gradients flow through them. Computed when first asked for.
  std::function<at::Tensor()> logits;
  // The model's own loss, as fast and as small as it is without a plug-in: to add to.
  std::function<at::Tensor()> model_loss;
  const at::Tensor& labels;  // as the model gets them, not shifted: int64, -100 does not count; or float32
  const at::Tensor& start_positions;  // [B] int64, of answers
  const at::Tensor& end_positions;    // [B] int64
  const at::Tensor& input_ids;        // [B, T] int64
  const at::Tensor& attention_mask;   // [B, T] int64; undefined: no padding
  // Float32 scalar, on the device: what a sum over all labels that count is divided by, so that the gradients of an
  // update are those of the mean over the labels of all its micro-batches and ranks (num_items_in_batch).
  const at::Tensor& num_items;
};

// A float32 scalar. Called in training and in evaluation, there without gradients; with --gradient_checkpointing
// perhaps once more in the backward pass. So it is a function of its input alone.
using Loss = std::function<at::Tensor(const LossInput&)>;

}  // namespace hftrain::plugin
