#include "hftrain/models/objective.h"

#include "hftrain/base/error.h"
#include "hftrain/nn/causal_lm_loss.h"
#include "hftrain/nn/linear.h"

namespace hftrain::models {
namespace {

using architectures::Head;

Objective causal_objective(const at::Tensor& labels, const LossRequest& request) {
  return [labels, request](const HeadOutput& head) -> Output {
    const nn::CausalLossOptions options{request.num_items, request.label_smoothing};
    if (!request.want_logits)
      return {nn::causal_lm_loss(head.hidden, head.weight, labels, options, head.kernels), {}};
    const at::Tensor logits = head.logits();
    return {nn::causal_lm_loss_from_logits(logits, labels, options), logits.detach()};
  };
}

int64_t counted(const at::Tensor& labels) {
  return (labels != nn::kIgnoreIndex).sum().item<int64_t>();
}

}  // namespace

at::Tensor HeadOutput::logits() const {
  if (!bias.defined()) return hidden.matmul(weight.t());
  return nn::linear(hidden, weight, bias);
}

Objective logits_only() {
  return [](const HeadOutput& head) -> Output { return {{}, head.logits()}; };
}

Objective loss_objective(const architectures::Architecture& architecture, const Batch& batch,
                         const LossRequest& request) {
  if (architecture.head() == Head::kCausalLm) return causal_objective(batch.labels, request);
  throw Error(ExitCode::kInternal,
              "no objective for the head " + std::string(head_word(architecture.head())));
}

int64_t label_count(const architectures::Architecture& architecture, const Batch& batch) {
  const at::Tensor& labels = batch.labels;
  if (architecture.head() != Head::kCausalLm) return counted(labels);
  const int64_t first = architecture.counts_first_label() ? 0 : 1, length = labels.size(1) - first;
  // Blocks of text are their own labels, and all of them count.
  if (labels.is_same(batch.input_ids)) return labels.size(0) * length;
  return counted(labels.narrow(1, first, length));
}

}  // namespace hftrain::models
