#include "hftrain/models/llama_model.h"

#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/nn/attention.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"

namespace hftrain::models {
namespace {

nn::RotarySetting rotary_setting(const architectures::RopeConfig& rope) {
  nn::RotarySetting setting;
  setting.theta = rope.theta;
  switch (rope.scaling) {
    case architectures::RopeScaling::kNone:
      break;
    case architectures::RopeScaling::kLinear:
      setting.scaling = nn::RotaryScaling::kLinear;
      break;
    case architectures::RopeScaling::kBanded:
      setting.scaling = nn::RotaryScaling::kBanded;
      break;
    case architectures::RopeScaling::kYarn:
      setting.scaling = nn::RotaryScaling::kYarn;
      break;
  }
  setting.factor = rope.factor;
  setting.low_freq_factor = rope.low_freq_factor;
  setting.high_freq_factor = rope.high_freq_factor;
  setting.original_max_position = rope.original_max_position;
  setting.beta_fast = rope.beta_fast;
  setting.beta_slow = rope.beta_slow;
  setting.attention_factor = rope.attention_factor;
  setting.truncate = rope.truncate;
  return setting;
}

}  // namespace

LlamaModel::LlamaModel(std::shared_ptr<const architectures::Architecture> architecture,
                       const ModelOptions& options)
    : DecoderModel(std::move(architecture), options),
      config_(dynamic_cast<const architectures::LlamaArchitecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.hidden_act)) {
  draws_random(/*embeddings=*/false, config_.attention_dropout > 0);
}

// Rotary positions have no table to run out of: longer sequences than max_position_embeddings are computed,
// as transformers does.
void LlamaModel::prepare(DecoderPlaces& places, int64_t length) {
  if (tables_.length() < length)
    tables_ =
        nn::make_rotary_tables(rotary_setting(config_.rope), config_.head_dim, length, options().device);
  places.rotary = places.positions.defined() ? nn::tables_at(tables_, places.positions)
                                             : tables_.part(past(), length - past());
}

at::Tensor LlamaModel::embed(nn::Parameters parameters, const at::Tensor& ids, const DecoderPlaces&) const {
  // Blocks of text hold no padding, and a token that stands for it elsewhere (the end of a text) is learnt.
  const bool padded = architecture().head() != architectures::Head::kCausalLm;
  return token_embedding(parameters[0], ids, padded ? architecture().pad_token_id() : std::nullopt,
                         embedding_scale());
}

LlamaModel::BlockParameters LlamaModel::name_parameters(nn::Parameters parameters) const {
  size_t next = 0;
  const auto take = [&](bool present) { return present ? parameters[next++] : nn::Parameter(); };
  const bool qkv_bias = config_.attention_bias || config_.qkv_bias, qk_norm = config_.qk_norm;
  BlockParameters p;
  p.query = take(true), p.query_bias = take(qkv_bias);
  p.key = take(true), p.key_bias = take(qkv_bias);
  p.value = take(true), p.value_bias = take(qkv_bias);
  p.output = take(true), p.output_bias = take(config_.attention_bias);
  p.query_norm = take(qk_norm), p.key_norm = take(qk_norm);
  p.gate = take(true), p.gate_bias = take(config_.mlp_bias);
  p.up = take(true), p.up_bias = take(config_.mlp_bias);
  p.down = take(true), p.down_bias = take(config_.mlp_bias);
  p.input_norm = take(true), p.post_norm = take(true);
  return p;
}

at::Tensor LlamaModel::heads(const at::Tensor& projected, const at::Tensor& norm,
                             const DecoderPlaces& places) const {
  at::Tensor x = projected.view({projected.size(0), projected.size(1), -1, config_.head_dim});
  if (norm.defined()) x = this->norm(x, norm);
  const nn::Kernels kernels = options().kernels.rope;
  return places.positions.defined() ? nn::rotate_each(x, places.rotary, kernels)
                                    : nn::rotate(x, places.rotary, kernels);
}

at::Tensor LlamaModel::attention(int64_t layer, const BlockParameters& p, const at::Tensor& x,
                                 const DecoderPlaces& places) const {
  const std::vector<at::Tensor> projected =
      nn::linear_many(x, {p.query, p.key, p.value}, {p.query_bias, p.key_bias, p.value_bias},
                      options().kernels.rest, products());
  const at::Tensor value = projected[2].view({x.size(0), x.size(1), -1, config_.head_dim});
  const nn::AttentionOptions attention =
      attention_options(1.0 / std::sqrt(static_cast<double>(config_.head_dim)), config_.attention_dropout,
                        config_.sliding_window[static_cast<size_t>(layer)]);
  return attend_back(layer, heads(projected[0], p.query_norm, places),
                     heads(projected[1], p.key_norm, places), value, places.attention_mask(), attention);
}

at::Tensor LlamaModel::block(int64_t layer, nn::Parameters parameters, const at::Tensor& x,
                             const DecoderPlaces& places) const {
  const BlockParameters p = name_parameters(parameters);
  const nn::KernelChoice& kernels = options().kernels;
  const at::Tensor normed = norm(x, p.input_norm);
  const at::Tensor attended = nn::linear_add(x, attention(layer, p, normed, places), p.output, p.output_bias,
                                             kernels.rest, products());
  const at::Tensor inner = norm(attended, p.post_norm);
  const std::vector<at::Tensor> gate_up =
      nn::linear_many(inner, {p.gate, p.up}, {p.gate_bias, p.up_bias}, kernels.rest, products());
  return nn::linear_add(attended, nn::gated(activation_, gate_up[0], gate_up[1], kernels), p.down,
                        p.down_bias, kernels.rest, products());
}

at::Tensor LlamaModel::final_norm(nn::Parameters parameters, const at::Tensor& x) const {
  return norm(x, parameters[0]);
}

at::Tensor LlamaModel::norm(const at::Tensor& x, const at::Tensor& weight) const {
  return nn::rms_norm(x, weight, config_.rms_norm_eps, options().kernels.rms_norm);
}

}  // namespace hftrain::models
