// ViT's config, typed.
#pragma once

#include "hftrain/architectures/family.h"

namespace hftrain::architectures {

struct VitConfig {
  int64_t hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  int64_t head_dim = 64;
  int64_t image_height = 224, image_width = 224, patch_height = 16, patch_width = 16, num_channels = 3;
  std::string hidden_act = "gelu";
  double layer_norm_eps = 1e-12;
  double hidden_dropout_prob = 0, attention_probs_dropout_prob = 0;
  double initializer_range = 0.02;
  bool qkv_bias = true;

  int64_t patches() const { return (image_height / patch_height) * (image_width / patch_width); }
};

class VitArchitecture final : public FamilyArchitecture {
 public:
  explicit VitArchitecture(FamilyConfig given);

  const VitConfig& config() const noexcept { return config_; }
  // Both have to be named by who wraps by class.
  std::vector<std::string> layer_class_names() const override { return {"ViTEmbeddings", "ViTLayer"}; }
  std::optional<ImageShape> image() const override;
  int64_t vocab_size() const override { return 0; }
  int64_t max_positions() const override { return 0; }
  bool learned_positions() const override { return false; }
  int64_t hidden_size() const override { return config_.hidden_size; }
  int64_t layers() const override { return config_.num_hidden_layers; }
  ActivationFootprint activations() const override;
  std::vector<BlockStack> stacks() const override;

 private:
  VitConfig config_;
};

}  // namespace hftrain::architectures
