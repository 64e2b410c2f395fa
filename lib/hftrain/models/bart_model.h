// BART: learned positions, post-norm blocks with LayerNorm and biases, weights stored [out, in].
#pragma once

#include "hftrain/architectures/bart.h"
#include "hftrain/models/encoder_decoder_model.h"
#include "hftrain/nn/activation.h"

namespace hftrain::models {

class BartModel final : public EncoderDecoderModel {
 public:
  BartModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);

 protected:
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids) const override;
  BlockOutputs block(Stack stack, int64_t layer, nn::Parameters parameters,
                     const BlockInputs& in) const override;
  DecoderEntry enter_decoder(nn::Parameters parameters, const at::Tensor& x,
                             const at::Tensor& ids) const override;
  HeadOutput head(nn::Parameters parameters, const at::Tensor& x) const override;

 private:
  // `p`: positions, then the norm's weight and bias. The first of ids is at position `first`.
  at::Tensor embed_at_positions(const nn::Parameter& tokens, nn::Parameters p, const at::Tensor& ids,
                                int64_t first) const;
  // norm(x + attention of x) over itself and over what the encoder made; `p`: weight and bias of key, value, query,
  // output and norm.
  at::Tensor attend_itself(Stack which, int64_t layer, nn::Parameters p, const at::Tensor& x,
                           const at::Tensor& padding) const;
  at::Tensor attend_encoder(int64_t layer, nn::Parameters p, const at::Tensor& x,
                            const BlockInputs& in) const;
  at::Tensor heads(const architectures::BartStack& stack, const at::Tensor& projected) const;
  nn::AttentionOptions options_of(const architectures::BartStack& stack) const;
  at::Tensor feed_forward(nn::Parameters p, const at::Tensor& x) const;
  // norm(residual + dropout(x·weightᵀ + bias)); `p`: weight and bias of the product and of the norm.
  at::Tensor add_and_norm(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                          const at::Tensor& bias, nn::Parameters norm) const;
  bool drops_layer(double layerdrop) const;

  const architectures::BartConfig& config_;
  nn::Activation activation_;
};

}  // namespace hftrain::models
