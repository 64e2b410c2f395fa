#include "hftrain/models/own_loss.h"

#include <ATen/TensorOperators.h>

#include <utility>

#include "hftrain/nn/loss.h"

namespace hftrain::models {
namespace {

using architectures::Head;

// The best ids of a vocabulary are -100 where nothing counts, but for blocks of text.
at::Tensor best_of(const at::Tensor& logits, const architectures::Architecture& architecture,
                   const Batch& batch) {
  at::Tensor best = logits.detach().argmax(-1);
  const Head head = architecture.head();
  if (head == Head::kMaskedLm || head == Head::kSeq2SeqLm)
    return best.masked_fill_(batch.labels == nn::kIgnoreIndex, nn::kIgnoreIndex);
  if (head != Head::kCausalLm || batch.labels.is_same(batch.input_ids)) return best;
  const int64_t length = best.size(1);
  best.narrow(1, 0, length - 1)
      .masked_fill_(batch.labels.narrow(1, 1, length - 1) == nn::kIgnoreIndex, nn::kIgnoreIndex);
  best.narrow(1, length - 1, 1).fill_(nn::kIgnoreIndex);
  return best;
}

}  // namespace

ObjectiveMaker own_loss(OwnLoss loss) {
  return [loss = std::move(loss)](const architectures::Architecture& architecture, const Batch& batch,
                                  const LossRequest& request) -> Objective {
    LossRequest alone = request;
    alone.want_logits = alone.want_best_ids = false;
    const Objective of_model = loss_objective(architecture, batch, alone);
    const architectures::Architecture* shown = &architecture;  // the model's, which outlives its objectives
    return [loss, of_model, shown, batch, request](const HeadOutput& head) -> Output {
      at::Tensor computed;
      const auto logits = [&] {
        if (!computed.defined()) computed = head.logits();
        return computed;
      };
      at::Tensor result = loss({logits, [&] { return of_model(head).loss; }, batch, request.num_items});
      if (request.want_best_ids) return {std::move(result), best_of(logits(), *shown, batch)};
      return {std::move(result), request.want_logits ? logits().detach() : at::Tensor()};
    };
  };
}

}  // namespace hftrain::models
