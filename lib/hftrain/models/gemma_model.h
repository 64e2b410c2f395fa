// Gemma: the blocks of the Llama family, with scaled embeddings, norms that multiply by 1 + weight, and tanh-gelu.
#pragma once

#include "hftrain/models/llama_model.h"

namespace hftrain::models {

class GemmaModel final : public LlamaModel {
 public:
  using LlamaModel::LlamaModel;

 protected:
  double embedding_scale() const override;
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const override;
};

}  // namespace hftrain::models
