// BART's config, typed.
#pragma once

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

struct BartStack {
  int64_t layers = 12, attention_heads = 16, ffn_dim = 4096;
  double layerdrop = 0;  // chance that a block is passed over while training
};

struct BartConfig {
  int64_t vocab_size = 50265, d_model = 1024, max_position_embeddings = 1024;
  BartStack encoder, decoder;
  std::string activation = "gelu";
  double dropout = 0.1, attention_dropout = 0, activation_dropout = 0, classifier_dropout = 0;
  double init_std = 0.02;
  bool scale_embedding = false;                  // by d_model^0.5
  static constexpr int64_t kPositionOffset = 2;  // rows of the positions that no token has
  static constexpr double kNormEpsilon = 1e-5;
};

class BartArchitecture final : public FamilyArchitecture {
 public:
  explicit BartArchitecture(FamilyConfig given);

  const BartConfig& config() const noexcept { return config_; }
  std::vector<std::string> layer_class_names() const override {
    return {"BartDecoderLayer", "BartEncoderLayer"};
  }
  int64_t vocab_size() const override { return config_.vocab_size; }
  bool has_encoder_and_decoder() const override { return true; }
  int64_t max_positions() const override { return config_.max_position_embeddings; }
  bool learned_positions() const override { return true; }
  int64_t hidden_size() const override { return config_.d_model; }
  int64_t layers() const override { return config_.encoder.layers + config_.decoder.layers; }
  bool drops_layers() const override {
    return config_.encoder.layerdrop > 0 || config_.decoder.layerdrop > 0;
  }
  ActivationFootprint activations() const override;  // of the encoder
  std::vector<BlockStack> stacks() const override;

 private:
  BartConfig config_;
};

}  // namespace hftrain::architectures
