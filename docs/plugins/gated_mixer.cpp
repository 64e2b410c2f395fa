// A family of its own: a decoder without attention. Each block mixes what stands before a token by a running mean with a gate, and then its
// channels by a gated unit.
#include "hftrain/plugin/model.h"

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>

#include "hftrain/plugin/plugin.h"

// The parameters have the names and the order that they have in the file; {layer} counts the blocks.
HFTRAIN_FAMILY(R"({
  "model_type": "gated_mixer", "layer_class": "GatedMixerBlock", "body": "model", "tied": "embed_tokens.weight",
  "config": {"vocab_size": 512, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "max_position_embeddings": 1024,
             "initializer_range": 0.02, "norm_eps": 1e-6, "tie_word_embeddings": false,
             "bos_token_id": null, "eos_token_id": null, "pad_token_id": null},
  "heads": {"causal_lm": {"class": "GatedMixerForCausalLM", "matrix": "lm_head"}},
  "embeddings": [{"kind": "embedding", "name": "embed_tokens", "shape": ["vocab_size", "hidden_size"]}],
  "block": [{"kind": "norm", "name": "layers.{layer}.mix_norm", "shape": ["hidden_size"]},
            {"kind": "matrix", "name": "layers.{layer}.mix", "shape": ["2*hidden_size", "hidden_size"]},
            {"kind": "norm", "name": "layers.{layer}.mlp_norm", "shape": ["hidden_size"]},
            {"kind": "matrix", "name": "layers.{layer}.up", "shape": ["2*intermediate_size", "hidden_size"]},
            {"kind": "matrix", "name": "layers.{layer}.down", "shape": ["hidden_size", "intermediate_size"]}],
  "last": [{"kind": "norm", "name": "norm", "shape": ["hidden_size"]}],
  "activations": "12*hidden_size+5*intermediate_size"
})")

namespace {

using namespace hftrain::plugin;

class GatedMixer final : public Decoder {
 public:
  explicit GatedMixer(const FamilyConfig& config) : eps_(config.number("norm_eps")) {}

  at::Tensor embed(const Tensors& parameters, const at::Tensor& ids) const override {
    return at::embedding(parameters[0], ids);
  }
  at::Tensor block(int64_t, const Tensors& p, const at::Tensor& x, const at::Tensor&) const override {
    const std::vector<at::Tensor> mixed = at::linear(norm(x, p[0]), p[1]).chunk(2, -1);
    const at::Tensor places = at::arange(1, x.size(1) + 1, mixed[0].options()).view({1, -1, 1});
    const at::Tensor seen = x + mixed[0].cumsum(1) / places * at::sigmoid(mixed[1]);
    const std::vector<at::Tensor> inner = at::linear(norm(seen, p[2]), p[3]).chunk(2, -1);
    return seen + at::linear(at::silu(inner[0]) * inner[1], p[4]);
  }
  at::Tensor last(const Tensors& parameters, const at::Tensor& x) const override {
    return norm(x, parameters[0]);
  }

 private:
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const {
    return x * at::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + eps_) * weight;
  }

  double eps_;
};

}  // namespace

HFTRAIN_PLUGIN("gated mixer") {
  registry.family("gated_mixer",
                  [](const FamilyConfig& config) { return std::make_unique<GatedMixer>(config); });
}
