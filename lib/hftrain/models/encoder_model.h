// Encoders that read tokens in both directions: learned positions, token types where the family has them, blocks with
// the norm after each sum, and their heads. What differs among the families is in EncoderConfig.
#pragma once

#include "hftrain/architectures/encoder.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/activation.h"

namespace hftrain::models {

class EncoderModel final : public Model {
 public:
  EncoderModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);
  Output forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) override;

 private:
  // Which units draw random numbers while training.
  void mark_random();
  // `ids` [B, T]; `types` and `positions` [B, T] or undefined → [B, T, C].
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids, const at::Tensor& types,
                   const at::Tensor& positions) const;
  at::Tensor add_positions(const at::Tensor& x, const at::Tensor& table, const at::Tensor& ids,
                           const at::Tensor& positions) const;
  // `padding` [B, T]: 0 where there is no token; undefined: all are tokens. `first_only`: of the first token of each row,
  // [B, 1, C].
  at::Tensor attention(nn::Parameters parameters, const at::Tensor& x, const at::Tensor& padding,
                       bool first_only) const;
  at::Tensor block(nn::Parameters parameters, const at::Tensor& x, const at::Tensor& padding,
                   bool first_only) const;
  // residual + dropout(x·weightᵀ + bias)
  at::Tensor project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                     const at::Tensor& bias, double dropout) const;
  HeadOutput head(nn::Parameters parameters, const at::Tensor& x) const;
  HeadOutput masked_lm(nn::Parameters parameters, const at::Tensor& x) const;
  // [B, C]: the first token, through the first matrix of the head.
  at::Tensor pooled(nn::Parameters parameters, const at::Tensor& x) const;

  const architectures::EncoderConfig& config_;
  nn::Activation activation_;
  nn::Activation head_activation_;
};

}  // namespace hftrain::models
