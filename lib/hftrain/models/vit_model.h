// ViT: patches of an image as tokens behind a class token, pre-norm blocks that see everything, and a head on the
// class token.
#pragma once

#include "hftrain/architectures/vit.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/activation.h"

namespace hftrain::models {

class VitModel final : public Model {
 public:
  VitModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);
  // Images of another size than the config's are an Error (exit code 4), as they are to transformers unless it is
  // told to interpolate the positions.
  Output forward(const Batch& batch, nn::UnitRunner& runner, const Objective& objective) override;

 private:
  // Each gets the unit's parameters in the compute dtype, in the order of the table.
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& pixels) const;  // [B, 1 + patches, C]
  // [B, 1 + patches, C]; with `first_only` of the class token alone, [B, 1, C]
  at::Tensor block(nn::Parameters parameters, const at::Tensor& x, bool first_only) const;
  HeadOutput head(nn::Parameters parameters, const at::Tensor& x) const;  // hidden [B, C]
  at::Tensor attention(at::TensorList projections) const;                 // [B, queries, H·d]
  // residual + dropout(x·Wᵀ + b)
  at::Tensor project(const at::Tensor& residual, const at::Tensor& x, const nn::Parameter& weight,
                     const at::Tensor& bias) const;
  void check(const Batch& batch) const;

  const architectures::VitConfig& config_;
  nn::Activation activation_;
};

}  // namespace hftrain::models
