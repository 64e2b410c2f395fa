#include "hftrain/models/gpt2_model.h"

#include <cmath>

#include "hftrain/nn/attention.h"
#include "hftrain/nn/dropout.h"
#include "hftrain/nn/embedding.h"
#include "hftrain/nn/linear.h"
#include "hftrain/nn/norm.h"

namespace hftrain::models {

Gpt2Model::Gpt2Model(std::shared_ptr<const architectures::Architecture> architecture,
                     const ModelOptions& options)
    : DecoderModel(std::move(architecture), options),
      config_(dynamic_cast<const architectures::Gpt2Architecture&>(this->architecture()).config()),
      activation_(nn::activation_by_name(config_.activation)) {
  draws_random(config_.embd_pdrop > 0, config_.attn_pdrop > 0 || config_.resid_pdrop > 0);
}

at::Tensor Gpt2Model::embed(nn::Parameters parameters, const at::Tensor& ids,
                            const DecoderPlaces& places) const {
  at::Tensor x = token_embedding(parameters[0], ids);
  x = places.positions.defined() ? nn::add_position_rows(x, parameters[1], places.positions)
                                 : nn::add_positions(x, parameters[1], past());
  return nn::dropout(x, active(config_.embd_pdrop));
}

at::Tensor Gpt2Model::attention(int64_t layer, const at::Tensor& qkv, const DecoderPlaces& places) const {
  const int64_t width = config_.n_embd, heads = config_.n_head, head_dim = width / heads;
  // Their gradients are put together once; those of three parts taken one by one are each as large as the whole.
  const std::vector<at::Tensor> parts = qkv.view({qkv.size(0), qkv.size(1), 3, heads, head_dim}).unbind(2);
  nn::AttentionOptions attention = attention_options(1, config_.attn_pdrop);
  if (config_.scale_attn_weights) attention.scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  if (config_.scale_attn_by_inverse_layer_idx) attention.scale /= static_cast<double>(layer + 1);
  return attend_back(layer, parts[0], parts[1], parts[2], places.attention_mask(), attention);
}

at::Tensor Gpt2Model::project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                              const at::Tensor& bias) const {
  const double p = active(config_.resid_pdrop);
  if (p == 0) return nn::conv1d_add(residual, x, weight, bias, options().kernels.rest, products());
  return nn::add_dropout(residual, nn::conv1d(x, weight, bias, products()), p);
}

// Parameters: ln_1 weight, bias; c_attn; attention c_proj; ln_2; c_fc; mlp c_proj.
at::Tensor Gpt2Model::block(int64_t layer, nn::Parameters p, const at::Tensor& x,
                            const DecoderPlaces& places) const {
  const double eps = config_.layer_norm_epsilon;
  const at::Tensor qkv = nn::conv1d(nn::layer_norm(x, p[0], p[1], eps), p[2], p[3], products());
  const at::Tensor attended = project(x, attention(layer, qkv, places), p[4], p[5]);
  const at::Tensor inner = nn::conv1d(nn::layer_norm(attended, p[6], p[7], eps), p[8], p[9], products());
  return project(attended,
                 nn::activate(activation_, inner, nn::keeps_bits(activation_, options().kernels.rest)), p[10],
                 p[11]);
}

at::Tensor Gpt2Model::final_norm(nn::Parameters parameters, const at::Tensor& x) const {
  return nn::layer_norm(x, parameters[0], parameters[1], config_.layer_norm_epsilon);
}

}  // namespace hftrain::models
