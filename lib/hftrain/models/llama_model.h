// The Llama family: Llama, Qwen2, Qwen3 and Mistral. RMSNorm, rotary positions, grouped-query attention,
// gated MLP; weights stored [out, in]. What differs is in LlamaConfig: biases, norms of queries and keys,
// windows.
#pragma once

#include "hftrain/architectures/llama.h"
#include "hftrain/models/decoder_model.h"
#include "hftrain/nn/activation.h"
#include "hftrain/nn/rotary.h"

namespace hftrain::models {

class LlamaModel : public DecoderModel {
 public:
  LlamaModel(std::shared_ptr<const architectures::Architecture> architecture, const ModelOptions& options);

 protected:
  void prepare(DecoderPlaces& places, int64_t length) override;
  at::Tensor embed(nn::Parameters parameters, const at::Tensor& ids,
                   const DecoderPlaces& places) const override;
  at::Tensor block(int64_t layer, nn::Parameters parameters, const at::Tensor& x,
                   const DecoderPlaces& places) const override;
  at::Tensor final_norm(nn::Parameters parameters, const at::Tensor& x) const override;
  virtual double embedding_scale() const { return 1; }
  // Of the last dimension, over `weight`.
  virtual at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;

  const architectures::LlamaConfig& config() const noexcept { return config_; }

 private:
  // Parameters of a block by what they do; undefined where the family has none.
  struct BlockParameters {
    nn::Parameter query, key, value, output, gate, up, down;
    at::Tensor query_bias, key_bias, value_bias, output_bias, query_norm, key_norm;
    at::Tensor gate_bias, up_bias, down_bias, input_norm, post_norm;
  };
  BlockParameters name_parameters(nn::Parameters parameters) const;
  at::Tensor attention(int64_t layer, const BlockParameters& p, const at::Tensor& x,
                       const DecoderPlaces& places) const;
  // Normalised (Qwen3) and rotated heads of a projection.
  at::Tensor heads(const at::Tensor& projected, const at::Tensor& norm, const DecoderPlaces& places) const;

  const architectures::LlamaConfig& config_;
  nn::Activation activation_;
  nn::RotaryTables tables_;  // grown by prepare(), read by the blocks
};

}  // namespace hftrain::models
