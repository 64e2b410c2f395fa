#include <cmath>
#include <iterator>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kKeys[] = {
    {"activation_function", ConfigType::kString, R"("gelu_new")"},
    {"add_cross_attention", ConfigType::kBoolean, "false"},
    {"attn_pdrop", ConfigType::kFloat, "0.1"},
    {"bos_token_id", ConfigType::kInteger, "50256", true},
    {"embd_pdrop", ConfigType::kFloat, "0.1"},
    {"eos_token_id", ConfigType::kTokenIds, "50256", true},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"layer_norm_epsilon", ConfigType::kFloat, "1e-05"},
    {"n_embd", ConfigType::kInteger, "768"},
    {"n_head", ConfigType::kInteger, "12"},
    {"n_inner", ConfigType::kInteger, "null", true},
    {"n_layer", ConfigType::kInteger, "12"},
    {"n_positions", ConfigType::kInteger, "1024"},
    {"pad_token_id", ConfigType::kInteger, "null", true},
    {"reorder_and_upcast_attn", ConfigType::kBoolean, "false"},
    {"resid_pdrop", ConfigType::kFloat, "0.1"},
    {"scale_attn_by_inverse_layer_idx", ConfigType::kBoolean, "false"},
    {"scale_attn_weights", ConfigType::kBoolean, "true"},
    {"summary_activation", ConfigType::kString, "null", true},
    {"summary_first_dropout", ConfigType::kFloat, "0.1"},
    {"summary_proj_to_labels", ConfigType::kBoolean, "true"},
    {"summary_type", ConfigType::kString, R"("cls_index")"},
    {"summary_use_proj", ConfigType::kBoolean, "true"},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "50257"},
};
constexpr ConfigAlias kAliases[] = {
    {"hidden_size", "n_embd"},
    {"max_position_embeddings", "n_positions"},
    {"num_attention_heads", "n_head"},
    {"num_hidden_layers", "n_layer"},
};

Gpt2Config read_config(const Json& json, const std::string& origin) {
  ConfigValues values(json, origin);
  Gpt2Config config;
  config.vocab_size = values.positive("vocab_size");
  config.n_positions = values.positive("n_positions");
  config.n_embd = values.positive("n_embd");
  config.n_layer = values.positive("n_layer", ConfigValues::kMostLayers);
  config.n_head = values.positive("n_head");
  config.n_inner = json["n_inner"].is_null() ? 0 : values.positive("n_inner");
  config.activation = values.activation("activation_function");
  config.layer_norm_epsilon = values.positive_number("layer_norm_epsilon");
  config.embd_pdrop = values.dropout("embd_pdrop");
  config.attn_pdrop = values.dropout("attn_pdrop");
  config.resid_pdrop = values.dropout("resid_pdrop");
  config.scale_attn_weights = values.get<bool>("scale_attn_weights");
  config.scale_attn_by_inverse_layer_idx = values.get<bool>("scale_attn_by_inverse_layer_idx");
  config.initializer_range = values.positive_number("initializer_range");
  config.tie_word_embeddings = values.get<bool>("tie_word_embeddings");
  values.require_multiple("n_embd", config.n_embd, "n_head", config.n_head);
  if (values.get<bool>("add_cross_attention")) values.refuse("GPT-2 with cross attention is not implemented");
  values.finish();
  return config;
}

// Matrices are stored [in, out] (transformers' Conv1D).
void add_block(ParameterTableBuilder& builder, const Gpt2Config& config, int64_t layer) {
  const std::string block = "transformer.h." + std::to_string(layer) + '.';
  const int64_t width = config.n_embd, inner = config.n_inner > 0 ? config.n_inner : 4 * width;
  // Residual projections shrink with depth (GPT-2 paper, section 2.3).
  const double residual_std = config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.n_layer));
  builder.begin_unit("block." + std::to_string(layer));
  builder.norm(block + "ln_1", width, /*with_bias=*/true);
  builder.matrix(block + "attn.c_attn", width, 3 * width, 3 * width);
  builder.matrix(block + "attn.c_proj", width, width, width, residual_std);
  builder.norm(block + "ln_2", width, /*with_bias=*/true);
  builder.matrix(block + "mlp.c_fc", width, inner, inner);
  builder.matrix(block + "mlp.c_proj", inner, width, width, residual_std);
}

ParameterTable build_table(const Gpt2Config& config, const std::string& origin) {
  ParameterTableBuilder builder(config.initializer_range, origin);
  builder.begin_unit("embeddings");
  builder.embedding("transformer.wte", config.vocab_size, config.n_embd);
  builder.embedding("transformer.wpe", config.n_positions, config.n_embd);
  for (int64_t layer = 0; layer < config.n_layer; ++layer) add_block(builder, config, layer);
  builder.begin_unit("head");
  builder.norm("transformer.ln_f", config.n_embd, /*with_bias=*/true);
  if (config.tie_word_embeddings) {
    builder.tie("lm_head.weight", "transformer.wte.weight");
  } else {
    builder.matrix("lm_head", config.vocab_size, config.n_embd, /*bias=*/0);
  }
  return builder.finish("transformer.", {R"(\.attn\.bias$)", R"(\.attn\.masked_bias$)"});
}

class Gpt2Architecture final : public Architecture {
 public:
  Gpt2Architecture(Json config, const std::string& origin)
      : json_(std::move(config)), config_(read_config(json_, origin)), table_(build_table(config_, origin)) {}

  const std::string& model_type() const override { return model_type_; }
  Json config_json() const override { return json_; }
  const ParameterTable& parameters() const override { return table_; }
  std::vector<std::string> layer_class_names() const override { return {gpt2_schema().layer_class}; }
  int64_t vocab_size() const override { return config_.vocab_size; }
  int64_t max_positions() const override { return config_.n_positions; }
  int64_t hidden_size() const override { return config_.n_embd; }
  int64_t layers() const override { return config_.n_layer; }
  bool counts_first_label() const override { return true; }
  const Gpt2Config* gpt2() const override { return &config_; }

 private:
  std::string model_type_ = "gpt2";
  Json json_;
  Gpt2Config config_;
  ParameterTable table_;
};

}  // namespace

const ConfigSchema& gpt2_schema() {
  static constexpr ConfigSchema kSchema = {"gpt2", "GPT2LMHeadModel", "GPT2Block", kKeys, kAliases, {},
                                           false};
  return kSchema;
}

std::shared_ptr<const Architecture> make_gpt2(const ConfigSchema&, Json config, const std::string& origin) {
  return std::make_shared<Gpt2Architecture>(std::move(config), origin);
}

}  // namespace hftrain::architectures
