// T5: relative positions as a bias of the scores, pre-norm blocks with RMSNorm and without biases, scores that are not
// scaled; v1.1 has a gated feed-forward. Weights stored [out, in].
#pragma once

#include "hftrain/architectures/t5.h"
#include "hftrain/models/encoder_decoder_model.h"
#include "hftrain/nn/activation.h"

namespace hftrain::models {

class T5Model final : public EncoderDecoderModel {
 public:
  T5Model(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);

 protected:
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids) const override;
  BlockOutputs block(Stack stack, int64_t layer, nn::Parameters parameters,
                     const BlockInputs& in) const override;
  DecoderEntry enter_decoder(nn::Parameters parameters, const at::Tensor& x,
                             const at::Tensor& ids) const override;
  HeadOutput head(nn::Parameters parameters, const at::Tensor& x) const override;

 private:
  // [B, T, h·d] → [B, T, h, d]
  at::Tensor heads(const at::Tensor& projected) const;
  // Whether the first block of a stack writes into the bias, which the others get from it, what is hidden from all of them.
  bool shares_mask(const at::Tensor& x) const;
  // x, plus the attention of norm(x) to itself; `p`: query, key, value, output and norm.
  at::Tensor attend_itself(Stack stack, int64_t layer, nn::Parameters p, const BlockInputs& in,
                           const at::Tensor& bias) const;
  // x, plus the attention of norm(x) to what the encoder made.
  at::Tensor attend_encoder(int64_t layer, nn::Parameters p, const at::Tensor& x,
                            const BlockInputs& in) const;
  at::Tensor feed_forward(nn::Parameters p, const at::Tensor& x) const;
  // residual + dropout(x·weightᵀ), kept finite in float16.
  at::Tensor add(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight) const;
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  double dropout() const { return active(config_.dropout_rate); }

  const architectures::T5Config& config_;
  nn::Activation activation_;
};

}  // namespace hftrain::models
