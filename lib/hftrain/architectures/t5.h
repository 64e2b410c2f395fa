// T5's config, typed: v1.0 (relu) and v1.1 (gated).
#pragma once

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

struct T5Config {
  int64_t vocab_size = 32128, d_model = 512, d_kv = 64, d_ff = 2048, num_heads = 8;
  int64_t num_layers = 6, num_decoder_layers = 6;  // 0 decoder layers: of a class that has none
  int64_t relative_attention_num_buckets = 32, relative_attention_max_distance = 128;
  std::string activation = "relu";
  bool is_gated = false;
  double dropout_rate = 0.1, classifier_dropout = 0;
  double layer_norm_epsilon = 1e-6, initializer_factor = 1;
  bool scale_decoder_outputs = true;  // by d_model^-0.5, before the output matrix
  bool tied = true;                   // that matrix is the embedding

  int64_t attention_width() const { return num_heads * d_kv; }
};

class T5Architecture final : public FamilyArchitecture {
 public:
  explicit T5Architecture(FamilyConfig given);

  const T5Config& config() const noexcept { return config_; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  bool has_encoder_and_decoder() const override { return config_.num_decoder_layers > 0; }
  int64_t max_positions() const override { return 0; }
  bool learned_positions() const override { return false; }
  int64_t hidden_size() const override { return config_.d_model; }
  int64_t layers() const override { return config_.num_layers + config_.num_decoder_layers; }
  ActivationFootprint activations() const override;  // of the encoder
  std::vector<BlockStack> stacks() const override;

 private:
  T5Config config_;
};

}  // namespace hftrain::architectures
