// What a model family is, without LibTorch: its config.json and its table of parameters. The plan counts
// bytes with it, checkpoints are checked against it, and models/ builds the tensors from it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"

namespace hftrain::architectures {

enum class InitKind { kNormal, kZeros, kOnes };

struct Init {
  InitKind kind = InitKind::kNormal;
  double std = 0.02;  // of kNormal
};

// One parameter tensor, in the order of `named_parameters()` of transformers (which is the order optimizer.pt
// counts).
struct ParameterSpec {
  std::string name;  // exact transformers name, e.g. "transformer.h.0.attn.c_attn.weight"
  std::vector<int64_t> shape;
  Init init;
  int unit = 0;              // index into ParameterTable::units
  bool weight_decay = true;  // false: bias and norm parameters (training_loop.md 7.7)
  bool embedding = false;    // an nn.Embedding weight: left out of total_flos
  int64_t numel() const;
};

// `alias` is not stored: it is the same tensor as `parameter` (tied output embedding).
struct TiedParameter {
  std::string alias;
  std::string parameter;
};

struct ParameterTable {
  std::vector<ParameterSpec> parameters;
  std::vector<TiedParameter> tied;
  std::vector<std::string> units;  // "embeddings", "block.0", …, "head": in forward order
  std::vector<std::string>
      ignored_patterns;     // regular expressions of stored buffers that are skipped on load
  std::string base_prefix;  // "transformer." or "model.": may be missing in a file

  int64_t count() const;  // numbers, tied tensors once
  int64_t count_non_embedding() const;
};

enum class RopeScaling { kNone, kLinear, kLlama3 };

// The decoder-only families share one typed config; `kind` says whose maths applies.
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

struct LlamaConfig {  // llama, qwen2, qwen3, mistral
  std::string model_type = "llama";
  int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008, num_hidden_layers = 32;
  int64_t num_attention_heads = 32, num_key_value_heads = 32, head_dim = 128;
  std::string hidden_act = "silu";
  int64_t max_position_embeddings = 2048;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling = RopeScaling::kNone;
  double rope_factor = 1.0, rope_low_freq_factor = 1.0, rope_high_freq_factor = 4.0;
  int64_t rope_original_max_position = 8192;
  bool attention_bias = false;  // q, k, v and o
  bool qkv_bias = false;        // q, k, v only (qwen2)
  bool mlp_bias = false;
  bool qk_norm = false;  // qwen3
  double attention_dropout = 0.0;
  std::vector<std::optional<int64_t>> sliding_window;  // per layer; unset: full attention
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
};

// The activations a config may name: those that models/ implements. "swish" is "silu".
const std::vector<std::string>& activation_names();

// One family with one config. Immutable; thread-safe.
class Architecture {
 public:
  virtual ~Architecture() = default;

  // From the content of a config.json, v4 and v5 spellings; `origin` names it in errors (exit code 4). An
  // unknown model_type is refused with the list of known ones; an unsupported option (activation, RoPE type)
  // by name.
  static std::shared_ptr<const Architecture> from_config(const Json& config, const std::string& origin);
  // Class defaults of `model_type` with `overrides` ("n_layer=4,n_head=4") applied, each converted to the
  // type of the key it replaces; an unknown key or a bad value is an error (exit code 2) with the nearest
  // name.
  static std::shared_ptr<const Architecture> from_scratch(const std::string& model_type,
                                                          const std::string& overrides);
  static std::vector<std::string> model_types();

  virtual const std::string& model_type() const = 0;
  // The config.json to write (sorted keys, v5 spellings plus what a v4 reader needs, unknown keys kept).
  virtual Json config_json() const = 0;
  virtual const ParameterTable& parameters() const = 0;
  // Class names of the repeated block in transformers ("GPT2Block", "LlamaDecoderLayer").
  virtual std::vector<std::string> layer_class_names() const = 0;
  // True where the Trainer 5.17 divides the summed loss by all labels of a row, the never predicted first one
  // included: it recognises causal heads by the class name, and GPT2LMHeadModel's does not tell. Its losses
  // are (T - 1)/T of the mean.
  virtual bool counts_first_label() const { return false; }
  virtual int64_t vocab_size() const = 0;
  virtual int64_t max_positions() const = 0;  // 0: no limit
  virtual int64_t hidden_size() const = 0;
  virtual int64_t layers() const = 0;
  // Exactly one of these is not null.
  virtual const Gpt2Config* gpt2() const { return nullptr; }
  virtual const LlamaConfig* llama() const { return nullptr; }
};

}  // namespace hftrain::architectures
