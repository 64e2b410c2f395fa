// What the decoder-only families share: embeddings, a stack of blocks, and a head with the causal loss.
#pragma once

#include "hftrain/models/model.h"

namespace hftrain::models {

// The families give the maths of their units. Each gets the unit's parameters, already in the compute dtype,
// in the order of the table, and keeps nothing.
class DecoderModel : public Model {
 public:
  using Model::Model;
  Output forward(const Batch& batch, nn::UnitRunner& runner, const LossRequest& loss) override;

 protected:
  // Called before the units of each forward; sequences have `length` tokens.
  virtual void prepare(int64_t length);
  // ids [B, T] → [B, T, C], noise of NEFTune included.
  virtual at::Tensor embed(at::TensorList parameters, const at::Tensor& ids) const = 0;
  virtual at::Tensor block(int64_t layer, at::TensorList parameters, const at::Tensor& x) const = 0;
  // The last norm. `parameters` are the head's without the output matrix [V, C], which is its last one.
  virtual at::Tensor final_norm(at::TensorList parameters, const at::Tensor& x) const = 0;

  // `p` in training mode, else 0.
  double active(double p) const noexcept { return training() ? p : 0; }
  // embed_tokens plus NEFTune noise.
  at::Tensor token_embedding(const at::Tensor& table, const at::Tensor& ids) const;

 private:
  std::vector<at::Tensor> run(nn::UnitRunner& runner, const nn::Unit& unit, at::TensorList inputs,
                              const nn::UnitFunction& function) const;
};

}  // namespace hftrain::models
