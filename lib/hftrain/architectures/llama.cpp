#include "hftrain/architectures/llama.h"

#include <algorithm>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/dropped_weights.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {
namespace {

constexpr const char* kSliding = "sliding_attention";
constexpr const char* kFull = "full_attention";

// Keys that other families have may stand in a config with any value; only those of its own were checked.
bool has_key(const ConfigSchema& schema, const char* key) {
  return schema.find(key) != nullptr;
}

// Values that transformers derives when it reads a config and then writes out.
void derive_missing(const ConfigSchema& schema, Json& json) {
  if (json["num_key_value_heads"].is_null()) json["num_key_value_heads"] = json["num_attention_heads"];
  const int64_t heads = json["num_attention_heads"].get<int64_t>();
  if (json.contains("head_dim") && json["head_dim"].is_null() && heads > 0) {
    json["head_dim"] = json["hidden_size"].get<int64_t>() / heads;
  }
  if (!has_key(schema, "use_sliding_window")) return;
  if (!json["use_sliding_window"].get<bool>()) json["sliding_window"] = nullptr;
  if (!json["layer_types"].is_null()) return;
  json["layer_types"] = Json::array();
  const int64_t first = json["max_window_layers"].get<int64_t>();
  // More are refused when they are read.
  const auto layers = std::min(json["num_hidden_layers"].get<int64_t>(), ConfigValues::kMostLayers);
  for (int64_t layer = 0; layer < layers; ++layer) {
    const bool slides = !json["sliding_window"].is_null() && layer >= first;
    json["layer_types"].push_back(slides ? kSliding : kFull);
  }
}

// Qwen: by layer_types; Mistral: every layer when set, or as transformers, which takes a Mistral with them for a Ministral, by
// layer_types; Llama: never.
void read_windows(const ConfigSchema& schema, const Json& json, ConfigValues& values, LlamaConfig& config) {
  std::optional<int64_t> window;
  if (has_key(schema, "sliding_window") && !json["sliding_window"].is_null())
    window = values.positive("sliding_window");
  config.sliding_window.assign(static_cast<size_t>(config.num_hidden_layers), std::nullopt);
  const bool mistral = config.model_type == "mistral";
  const Json types = json.value("layer_types", Json());
  if (mistral && types.is_null()) config.sliding_window.assign(config.sliding_window.size(), window);
  if (!has_key(schema, "use_sliding_window") && (!mistral || types.is_null())) return;
  if (!types.is_array() || types.size() != config.sliding_window.size()) {
    return values.refuse("layer_types must name a type for each of the " +
                         std::to_string(config.num_hidden_layers) + " layers");
  }
  for (size_t layer = 0; layer < types.size(); ++layer) {
    if (types[layer] != kSliding && types[layer] != kFull) {
      return values.refuse("layer type " + types[layer].dump() + " is not implemented",
                           "the implemented types are full_attention and sliding_attention");
    }
    if (types[layer] != kSliding) continue;
    if (!window)
      return values.refuse("layer_types names sliding_attention, and there is no window",
                           "sliding_window is null, or use_sliding_window false");
    config.sliding_window[layer] = window;
  }
}

void read_biases(const ConfigSchema& schema, const Json& json, const ConfigValues& values,
                 LlamaConfig& config) {
  config.attention_bias = has_key(schema, "attention_bias") && values.get<bool>("attention_bias");
  config.qkv_bias = config.model_type == "qwen2";
  config.mlp_bias = has_key(schema, "mlp_bias") && values.get<bool>("mlp_bias");
  config.qk_norm = config.model_type == "qwen3";
  config.token_bias =
      !json.contains("token_classification_bias") || values.get<bool>("token_classification_bias");
}

LlamaConfig read_config(const ConfigSchema& schema, const Json& json, const std::string& origin) {
  ConfigValues values(json, origin);
  LlamaConfig config;
  config.model_type = schema.model_type;
  config.vocab_size = values.positive("vocab_size");
  config.hidden_size = values.positive("hidden_size");
  config.intermediate_size = values.positive("intermediate_size");
  config.num_hidden_layers = values.positive("num_hidden_layers", ConfigValues::kMostLayers);
  config.num_attention_heads = values.positive("num_attention_heads");
  config.num_key_value_heads = values.positive("num_key_value_heads");
  const bool explicit_head_dim = json.contains("head_dim") && json["head_dim"].is_number_integer();
  config.head_dim =
      explicit_head_dim ? values.positive("head_dim") : config.hidden_size / config.num_attention_heads;
  config.hidden_act = values.activation("hidden_act");
  config.max_position_embeddings = values.positive("max_position_embeddings");
  config.rms_norm_eps = values.from_zero("rms_norm_eps");
  config.attention_dropout = values.dropout("attention_dropout");
  config.initializer_range = values.from_zero("initializer_range");
  config.tie_word_embeddings = values.get<bool>("tie_word_embeddings");
  if (config.model_type == "llama" || !explicit_head_dim) {
    values.require_multiple("hidden_size", config.hidden_size, "num_attention_heads",
                            config.num_attention_heads);
  }
  values.require_multiple("num_attention_heads", config.num_attention_heads, "num_key_value_heads",
                          config.num_key_value_heads);
  values.require_multiple("head_dim", config.head_dim, "2 (rotary embeddings turn pairs)", 2);
  read_biases(schema, json, values, config);
  config.norm_adds_one = config.model_type == "gemma";
  if (json.value("use_bidirectional_attention", Json()) == true)
    values.refuse("attention in both directions is not implemented for this family",
                  "use_bidirectional_attention is true");
  values.require_causal();
  read_windows(schema, json, values, config);
  values.finish();
  config.rope = read_rope(json, origin);
  return config;
}

// Matrices are stored [out, in].
void add_layer(ParameterTableBuilder& builder, const LlamaConfig& config, int64_t index) {
  const std::string layer = "layers." + std::to_string(index) + '.';
  const int64_t width = config.hidden_size, inner = config.intermediate_size;
  const int64_t queries = config.num_attention_heads * config.head_dim;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  const auto project = [&](const std::string& name, int64_t out, int64_t in, bool bias) {
    builder.matrix(layer + name, out, in, bias ? out : 0);
  };
  builder.begin_block(index);
  const bool qkv_bias = config.attention_bias || config.qkv_bias;
  project("self_attn.q_proj", queries, width, qkv_bias);
  project("self_attn.k_proj", keys, width, qkv_bias);
  project("self_attn.v_proj", keys, width, qkv_bias);
  project("self_attn.o_proj", width, queries, config.attention_bias);
  if (config.qk_norm) {
    builder.norm(layer + "self_attn.q_norm", config.head_dim, /*with_bias=*/false, config.norm_adds_one);
    builder.norm(layer + "self_attn.k_norm", config.head_dim, /*with_bias=*/false, config.norm_adds_one);
  }
  project("mlp.gate_proj", inner, width, config.mlp_bias);
  project("mlp.up_proj", inner, width, config.mlp_bias);
  project("mlp.down_proj", width, inner, config.mlp_bias);
  builder.norm(layer + "input_layernorm", width, /*with_bias=*/false, config.norm_adds_one);
  builder.norm(layer + "post_attention_layernorm", width, /*with_bias=*/false, config.norm_adds_one);
}

ParameterTable build_table(const LlamaConfig& config, const FamilyConfig& given, const std::string& prefix,
                           int64_t outputs, std::optional<int64_t> padding) {
  ParameterTableBuilder builder(config.initializer_range, prefix, given.origin);
  builder.begin_unit("embeddings");
  builder.embedding("embed_tokens", config.vocab_size, config.hidden_size, /*std=*/0,
                    padding ? row_of_table(*padding, config.vocab_size) : std::nullopt);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) add_layer(builder, config, layer);
  builder.begin_unit("head");
  builder.norm("norm", config.hidden_size, /*with_bias=*/false, config.norm_adds_one);
  const bool tied = given.head.head == Head::kCausalLm && config.tie_word_embeddings;
  HeadSpec head = given.head;
  if (head.head == Head::kTokenClassification) head.bias = config.token_bias;
  append_head(builder, head, outputs, config.hidden_size, tied ? "embed_tokens.weight" : "");
  return builder.finish({R"(\.rotary_emb\.inv_freq$)"});
}

}  // namespace

LlamaArchitecture::LlamaArchitecture(FamilyConfig config)
    : FamilyArchitecture(std::move(config)),
      config_(read_config(given().schema, given().json, given().origin)) {
  set_table(build_table(config_, given(), base_prefix(), outputs(), pad_token_id()));
}

Json LlamaArchitecture::config_json() const {
  Json json = FamilyArchitecture::config_json();
  add_v4_rope(json);
  return json;
}

ActivationFootprint LlamaArchitecture::activations() const {
  const int64_t width = config_.hidden_size;
  const int64_t queries = config_.num_attention_heads * config_.head_dim;
  const int64_t keys = config_.num_key_value_heads * config_.head_dim;
  ActivationFootprint block;
  // Both norms' inputs and outputs; q and k behind the rotation, which keeps nothing, and before a norm of theirs; v, the attention's
  // output; gate, up and their product.
  const int64_t normed = config_.qk_norm ? queries + keys : 0;
  block.linear = 4 * width + 2 * queries + 2 * keys + normed + 3 * config_.intermediate_size;
  block.passing = width + 2 * config_.intermediate_size;
  block.gated = config_.intermediate_size;
  block.attended = queries;
  block.repeated = 2 * (queries - keys);
  if (config_.attention_dropout > 0) block.dropped = kOfDroppedWeight * config_.num_attention_heads;
  return block;
}

std::shared_ptr<const Architecture> make_llama(FamilyConfig given) {
  derive_missing(given.schema, given.json);
  return std::make_shared<LlamaArchitecture>(std::move(given));
}

}  // namespace hftrain::architectures
