#include "hftrain/models/t5_model.h"

#include <ATen/TensorOperators.h>

#include <cmath>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/masked_bias.h"
#include "hftrain/nn/norm.h"
#include "hftrain/nn/relative_position.h"

namespace hftrain::models {
namespace {

using architectures::Head;

// Of block 0 the table of positions stands between the attention's matrices and its norm.
constexpr size_t kPositionTable = 4;

}  // namespace

T5Model::T5Model(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options)
    : EncoderDecoderModel(
          architecture, options,
          dynamic_cast<const architectures::T5Architecture&>(*architecture).config().num_layers),
      config_(dynamic_cast<const architectures::T5Architecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.activation)) {
  const bool drops = config_.dropout_rate > 0;
  draws_random(drops, drops, drops || config_.classifier_dropout > 0);
}

at::Tensor T5Model::norm(const at::Tensor& x, const at::Tensor& weight) const {
  return nn::rms_norm(x, weight, config_.layer_norm_epsilon, options().kernels.rms_norm);
}

at::Tensor T5Model::embed(nn::Parameters parameters, const at::Tensor& ids) const {
  return nn::dropout(token_embedding(parameters[0], ids), dropout());
}

EncoderDecoderModel::DecoderEntry T5Model::enter_decoder(nn::Parameters parameters, const at::Tensor& x,
                                                         const at::Tensor& ids) const {
  at::Tensor encoded = x.defined() ? nn::dropout(norm(x, parameters[0]), dropout()) : x;
  return {std::move(encoded), nn::dropout(token_embedding(parameters[1], ids), dropout())};
}

at::Tensor T5Model::heads(const at::Tensor& projected) const {
  return projected.view({projected.size(0), projected.size(1), config_.num_heads, config_.d_kv});
}

at::Tensor T5Model::add(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight) const {
  if (dropout() == 0)
    return kept_finite(nn::linear_add(residual, x, weight, {}, options().kernels.rest, products()));
  return kept_finite(nn::add_dropout(residual, nn::linear(x, weight, {}, products()), dropout()));
}

// A CPU's layers mask the scores themselves, as they always did: the same bits.
bool T5Model::shares_mask(const at::Tensor& x) const {
  return !x.is_cpu() && cache() == nullptr;
}

at::Tensor T5Model::attend_itself(Stack stack, int64_t layer, nn::Parameters p, const BlockInputs& in,
                                  const at::Tensor& bias) const {
  const std::vector<at::Tensor> projected =
      nn::linear_many(norm(in.x, p[4]), {p[0], p[1], p[2]}, {}, options().kernels.rest, products());
  const nn::AttentionOptions options = attention_options(1, config_.dropout_rate);
  const at::Tensor query = heads(projected[0]), key = heads(projected[1]), value = heads(projected[2]);
  nn::AttentionMask mask{.bias = bias, .bias_learns = training()};
  if (!shares_mask(in.x)) {
    mask.causal = stack == Stack::kDecoder;
    mask.padding = in.padding;
  }
  if (stack == Stack::kEncoder) return add(in.x, nn::attention(query, key, value, mask, options), p[3]);
  return add(in.x, attend_back(layer, query, key, value, mask, options), p[3]);
}

at::Tensor T5Model::attend_encoder(int64_t layer, nn::Parameters p, const at::Tensor& x,
                                   const BlockInputs& in) const {
  const at::Tensor query = nn::linear(norm(x, p[4]), p[0], {}, products());
  const KeysAndValues of_encoder = attend_to_encoder(layer, [&]() -> KeysAndValues {
    const std::vector<at::Tensor> both =
        nn::linear_many(in.encoded, {p[1], p[2]}, {}, options().kernels.rest, products());
    return {heads(both[0]), heads(both[1])};
  });
  const at::Tensor attended = nn::attention(heads(query), of_encoder.keys, of_encoder.values,
                                            {.causal = false, .padding = in.encoded_padding, .bias = {}},
                                            attention_options(1, config_.dropout_rate));
  return add(x, attended, p[3]);
}

// Parameters: wi (of a gated one wi_0, wi_1), wo, norm.
at::Tensor T5Model::feed_forward(nn::Parameters p, const at::Tensor& x) const {
  const at::Tensor normed = norm(x, p[p.size() - 1]);
  at::Tensor inner;
  if (config_.is_gated) {
    const std::vector<at::Tensor> gate_up =
        nn::linear_many(normed, {p[0], p[1]}, {}, options().kernels.rest, products());
    inner = nn::gated(activation_, gate_up[0], gate_up[1], options().kernels);
  } else {
    inner = nn::activate(activation_, nn::linear(normed, p[0], {}, products()), options().kernels.rest);
  }
  return add(x, nn::dropout(inner, dropout()), p[p.size() - 2]);
}

BlockOutputs T5Model::block(Stack stack, int64_t layer, nn::Parameters parameters,
                            const BlockInputs& in) const {
  std::vector<nn::Parameter> p = parameters.vec();
  at::Tensor bias = in.bias;
  if (layer == 0) {
    const nn::RelativePositions positions{config_.relative_attention_num_buckets,
                                          config_.relative_attention_max_distance, stack == Stack::kEncoder};
    const int64_t length = in.x.size(1), before = stack == Stack::kDecoder ? past() : 0;
    bias = nn::relative_bias(p[kPositionTable],
                             nn::relative_buckets(length, before + length, positions, in.x.device(), before));
    if (shares_mask(in.x))
      bias = nn::masked_bias(bias, in.padding, stack == Stack::kDecoder, in.x.scalar_type());
    p.erase(p.begin() + kPositionTable);
  }
  constexpr size_t kAttention = 5;  // parameters: query, key, value, output, norm
  const nn::Parameters all = p;
  at::Tensor x = attend_itself(stack, layer, all.slice(0, kAttention), in, bias);
  if (stack == Stack::kDecoder) x = attend_encoder(layer, all.slice(kAttention, kAttention), x, in);
  x = feed_forward(all.slice(stack == Stack::kDecoder ? 2 * kAttention : kAttention), x);
  return {std::move(x), layer == 0 ? bias : at::Tensor()};
}

// Parameters: the last norm; of a classification of rows its dense layer; the head's matrix and bias.
HeadOutput T5Model::head(nn::Parameters p, const at::Tensor& x) const {
  HeadOutput out{.hidden = nn::dropout(norm(x, p[0]), dropout()),
                 .kernels = options().kernels.loss,
                 .products = products()};
  const double drop = active(config_.classifier_dropout);
  switch (architecture().head()) {
    case Head::kSeq2SeqLm:
      if (config_.scale_decoder_outputs) out.hidden = out.hidden * std::pow(config_.d_model, -0.5);
      break;
    case Head::kSequenceClassification:
      out.hidden = nn::linear(nn::dropout(out.hidden, drop), p[1], p[2], products()).tanh();
      out.hidden = nn::dropout(out.hidden, drop);
      break;
    case Head::kTokenClassification:
      out.hidden = nn::dropout(out.hidden, drop);
      break;
    default:
      break;
  }
  const bool speaks = architecture().head() == Head::kSeq2SeqLm;
  out.weight = nn::matrix_of_head(x, p[p.size() - (speaks ? 1 : 2)]);
  if (!speaks) out.bias = p.back();
  return out;
}

}  // namespace hftrain::models
