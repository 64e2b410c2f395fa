// The typed config of Llama and of the families that share its blocks.
#pragma once

#include <optional>
#include <vector>

#include "hftrain/architectures/family.h"
#include "hftrain/architectures/rope_config.h"

namespace hftrain::architectures {

struct LlamaConfig {  // llama, qwen2, qwen3, mistral, gemma
  std::string model_type = "llama";
  int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32;
  int64_t num_attention_heads = 32, num_key_value_heads = 32, head_dim = 128;
  std::string hidden_act = "silu";
  int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6;
  RopeConfig rope;
  bool attention_bias = false;  // q, k, v and o
  bool qkv_bias = false;        // q, k, v only (qwen2)
  bool mlp_bias = false;
  bool qk_norm = false;        // qwen3
  bool token_bias = true;      // of the head that classifies tokens
  bool norm_adds_one = false;  // gemma: norms multiply by 1 + weight, which starts at 0
  double attention_dropout = 0.0;
  std::vector<std::optional<int64_t>> sliding_window;  // per layer; unset: full attention
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
};

class LlamaArchitecture final : public FamilyArchitecture {
 public:
  explicit LlamaArchitecture(FamilyConfig given);

  const LlamaConfig& config() const noexcept { return config_; }
  Json config_json() const override;
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.max_position_embeddings; }
  bool learned_positions() const override { return false; }
  bool bounded_positions() const override { return config_.rope.bounded; }
  std::vector<std::optional<int64_t>> causal_windows() const override { return config_.sliding_window; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  bool norms_were_unlisted() const override {
    return config_.model_type != "llama" && config_.model_type != "qwen3";
  }
  int64_t layers() const override { return config_.num_hidden_layers; }
  ActivationFootprint activations() const override;

 private:
  LlamaConfig config_;
};

}  // namespace hftrain::architectures
