// GPT-2: learned positions, pre-norm blocks with LayerNorm and a tanh-gelu MLP, weights stored [in, out].
#pragma once

#include "hftrain/architectures/gpt2.h"
#include "hftrain/models/decoder_model.h"
#include "hftrain/nn/activation.h"

namespace hftrain::models {

class Gpt2Model final : public DecoderModel {
 public:
  Gpt2Model(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);

 protected:
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids,
                   const DecoderPlaces& places) const override;
  at::Tensor block(int64_t layer, nn::Parameters parameters, const at::Tensor& x,
                   const DecoderPlaces& places) const override;
  at::Tensor final_norm(nn::Parameters parameters, const at::Tensor& x) const override;

 private:
  at::Tensor attention(int64_t layer, const at::Tensor& qkv, const DecoderPlaces& places) const;
  // residual + dropout(x·weight + bias)
  at::Tensor project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                     const at::Tensor& bias) const;

  const architectures::Gpt2Config& config_;
  nn::Activation activation_;
};

}  // namespace hftrain::models
