// A loss for language models in the place of cross-entropy (arXiv 1708.02002): tokens that the model knows already count less.
#include <ATen/ATen.h>

#include <cstdint>

#include "hftrain/plugin/plugin.h"

namespace {

using hftrain::plugin::LossInput;

constexpr double kGamma = 2;

// Logits and labels come unshifted: what stands at a place is to say the label of the next one.
at::Tensor focal_loss(const LossInput& input) {
  const int64_t next = input.labels.size(1) - 1;
  const at::Tensor all = input.logits();
  const at::Tensor logits = all.narrow(1, 0, next).reshape({-1, all.size(-1)}).to(at::kFloat);
  const at::Tensor labels = input.labels.narrow(1, 1, next).reshape({-1});
  const at::Tensor counts = labels != -100;
  const at::Tensor targets = labels.masked_fill(counts.logical_not(), 0).unsqueeze(1);
  const at::Tensor log_p = logits.log_softmax(-1).gather(1, targets).squeeze(1);
  const at::Tensor losses = -(1 - log_p.exp()).pow(kGamma) * log_p;
  return (losses * counts).sum() / input.num_items;
}

}  // namespace

HFTRAIN_PLUGIN("focal loss") {
  registry.loss("focal", focal_loss);
}
