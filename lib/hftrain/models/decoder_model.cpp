#include "hftrain/models/decoder_model.h"

#include "hftrain/nn/causal_lm_loss.h"
#include "hftrain/nn/embedding.h"

namespace hftrain::models {
namespace {

std::vector<at::Tensor> cast(at::TensorList parameters, at::ScalarType dtype) {
  std::vector<at::Tensor> result;
  result.reserve(parameters.size());
  for (const at::Tensor& parameter : parameters) result.push_back(parameter.to(dtype));
  return result;
}

}  // namespace

void DecoderModel::prepare(int64_t) {}

at::Tensor DecoderModel::token_embedding(const at::Tensor& table, const at::Tensor& ids) const {
  const at::Tensor x = nn::embed_tokens(table, ids);
  return active(options().neftune_alpha) == 0 ? x : nn::add_neftune_noise(x, options().neftune_alpha);
}

at::Tensor DecoderModel::run(nn::UnitRunner& runner, const nn::Unit& unit, const at::Tensor& input,
                             const nn::UnitFunction& function) const {
  const at::ScalarType dtype = options().compute_dtype;
  return runner.run(unit, unit_parameters(unit), input,
                    [function, dtype](at::TensorList parameters, const at::Tensor& x) {
                      return function(cast(parameters, dtype), x);
                    });
}

Output DecoderModel::forward(const Batch& batch, nn::UnitRunner& runner, const LossRequest& request) {
  prepare(batch.input_ids.size(1));
  at::Tensor x =
      run(runner, units().front(), batch.input_ids,
          [this](at::TensorList parameters, const at::Tensor& ids) { return embed(parameters, ids); });
  for (size_t i = 1; i + 1 < units().size(); ++i) {
    const int64_t layer = static_cast<int64_t>(i) - 1;
    x = run(runner, units()[i], x, [this, layer](at::TensorList parameters, const at::Tensor& input) {
      return block(layer, parameters, input);
    });
  }
  const auto logits = std::make_shared<at::Tensor>();  // the second result of the head
  const auto head = [this, labels = batch.labels, request, logits](at::TensorList parameters,
                                                                   const at::Tensor& input) {
    const at::Tensor hidden = final_norm(parameters.slice(0, parameters.size() - 1), input);
    const at::Tensor& output = parameters.back();
    if (!labels.defined()) return hidden.matmul(output.t());
    const nn::CausalLossOptions loss{request.num_items, options().label_smoothing};
    if (!request.want_logits) return nn::causal_lm_loss(hidden, output, labels, loss, options().kernels);
    const at::Tensor all = hidden.matmul(output.t());
    *logits = all.detach();
    return nn::causal_lm_loss_from_logits(all, labels, loss);
  };
  const at::Tensor result = run(runner, units().back(), x, head);
  if (!batch.labels.defined()) return {at::Tensor(), result};
  return {result, *logits};
}

}  // namespace hftrain::models
