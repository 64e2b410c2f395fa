// GPT-2's config, typed.
#pragma once

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

struct Gpt2Config {
  int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12,
          n_inner = 0;  // 0: 4*n_embd
  std::string activation = "gelu_new";
  double layer_norm_epsilon = 1e-5;
  double embd_pdrop = 0.1, attn_pdrop = 0.1, resid_pdrop = 0.1;
  bool scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false;
  double initializer_range = 0.02;
  bool tie_word_embeddings = true;
};

class Gpt2Architecture final : public FamilyArchitecture {
 public:
  explicit Gpt2Architecture(FamilyConfig given);

  const Gpt2Config& config() const noexcept { return config_; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.n_positions; }
  bool learned_positions() const override { return true; }
  std::vector<std::optional<int64_t>> causal_windows() const override {
    return std::vector<std::optional<int64_t>>(static_cast<size_t>(layers()));
  }
  int64_t hidden_size() const override { return config_.n_embd; }
  int64_t layers() const override { return config_.n_layer; }
  ActivationFootprint activations() const override;

 private:
  Gpt2Config config_;
};

}  // namespace hftrain::architectures
