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

std::vector<at::Tensor> DecoderModel::run(nn::UnitRunner& runner, const nn::Unit& unit, at::TensorList inputs,
                                          const nn::UnitFunction& function) const {
  const at::ScalarType dtype = options().compute_dtype;
  return runner.run(unit, unit_parameters(unit), inputs,
                    [function, dtype](at::TensorList parameters, at::TensorList given) {
                      return function(cast(parameters, dtype), given);
                    });
}

Output DecoderModel::forward(const Batch& batch, nn::UnitRunner& runner, const LossRequest& request) {
  prepare(batch.input_ids.size(1));
  using Tensors = std::vector<at::Tensor>;
  Tensors x =
      run(runner, units().front(), {batch.input_ids},
          [this](at::TensorList parameters, at::TensorList in) { return Tensors{embed(parameters, in[0])}; });
  for (size_t i = 1; i + 1 < units().size(); ++i) {
    const int64_t layer = static_cast<int64_t>(i) - 1;
    x = run(runner, units()[i], x, [this, layer](at::TensorList parameters, at::TensorList in) {
      return Tensors{block(layer, parameters, in[0])};
    });
  }
  // The loss and the logits.
  const auto head = [this, labels = batch.labels, request](at::TensorList parameters,
                                                           at::TensorList in) -> Tensors {
    const at::Tensor hidden = final_norm(parameters.slice(0, parameters.size() - 1), in[0]);
    const at::Tensor& output = parameters.back();
    if (!labels.defined()) return {at::Tensor(), hidden.matmul(output.t())};
    const nn::CausalLossOptions loss{request.num_items, options().label_smoothing};
    if (!request.want_logits)
      return {nn::causal_lm_loss(hidden, output, labels, loss, options().kernels), at::Tensor()};
    const at::Tensor all = hidden.matmul(output.t());
    return {nn::causal_lm_loss_from_logits(all, labels, loss), all.detach()};
  };
  const Tensors result = run(runner, units().back(), x, head);
  return {result[0], result[1]};
}

}  // namespace hftrain::models
