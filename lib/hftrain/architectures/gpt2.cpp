#include "hftrain/architectures/gpt2.h"

#include <cmath>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/dropped_weights.h"
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
constexpr HeadSpec kHeads[] = {
    {Head::kCausalLm, "GPT2LMHeadModel", "transformer", "lm_head"},
    {Head::kSequenceClassification, "GPT2ForSequenceClassification", "transformer", "score"},
    {Head::kTokenClassification, "GPT2ForTokenClassification", "transformer", "classifier", /*bias=*/true},
    {Head::kQuestionAnswering, "GPT2ForQuestionAnswering", "transformer", "qa_outputs", /*bias=*/true},
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
  config.layer_norm_epsilon = values.from_zero("layer_norm_epsilon");
  config.embd_pdrop = values.dropout("embd_pdrop");
  config.attn_pdrop = values.dropout("attn_pdrop");
  config.resid_pdrop = values.dropout("resid_pdrop");
  config.scale_attn_weights = values.get<bool>("scale_attn_weights");
  config.scale_attn_by_inverse_layer_idx = values.get<bool>("scale_attn_by_inverse_layer_idx");
  config.initializer_range = values.from_zero("initializer_range");
  config.tie_word_embeddings = values.get<bool>("tie_word_embeddings");
  values.require_multiple("n_embd", config.n_embd, "n_head", config.n_head);
  if (values.get<bool>("add_cross_attention"))
    values.refuse("GPT-2 with cross attention is not implemented", "add_cross_attention is true");
  values.require_causal();
  values.finish();
  return config;
}

// Matrices are stored [in, out] (transformers' Conv1D).
void add_block(ParameterTableBuilder& builder, const Gpt2Config& config, int64_t layer) {
  const std::string block = "h." + std::to_string(layer) + '.';
  const int64_t width = config.n_embd, inner = config.n_inner > 0 ? config.n_inner : 4 * width;
  // Residual projections shrink with depth (GPT-2 paper, section 2.3).
  const double residual_std = config.initializer_range / std::sqrt(2.0 * static_cast<double>(config.n_layer));
  builder.begin_block(layer);
  builder.norm(block + "ln_1", width, /*with_bias=*/true);
  builder.conv1d(block + "attn.c_attn", width, 3 * width);
  builder.conv1d(block + "attn.c_proj", width, width, residual_std);
  builder.norm(block + "ln_2", width, /*with_bias=*/true);
  builder.conv1d(block + "mlp.c_fc", width, inner);
  builder.conv1d(block + "mlp.c_proj", inner, width, residual_std);
}

ParameterTable build_table(const Gpt2Config& config, const FamilyConfig& given, const std::string& prefix,
                           int64_t outputs) {
  ParameterTableBuilder builder(config.initializer_range, prefix, given.origin);
  builder.begin_unit("embeddings");
  builder.embedding("wte", config.vocab_size, config.n_embd);
  builder.embedding("wpe", config.n_positions, config.n_embd);
  for (int64_t layer = 0; layer < config.n_layer; ++layer) add_block(builder, config, layer);
  builder.begin_unit("head");
  builder.norm("ln_f", config.n_embd, /*with_bias=*/true);
  const bool tied = given.head.head == Head::kCausalLm && config.tie_word_embeddings;
  append_head(builder, given.head, outputs, config.n_embd, tied ? "wte.weight" : "");
  return builder.finish({R"(\.attn\.bias$)", R"(\.attn\.masked_bias$)"});
}

}  // namespace

Gpt2Architecture::Gpt2Architecture(FamilyConfig config)
    : FamilyArchitecture(std::move(config)), config_(read_config(given().json, given().origin)) {
  set_table(build_table(config_, given(), base_prefix(), outputs()));
}

ActivationFootprint Gpt2Architecture::activations() const {
  const int64_t width = config_.n_embd, inner = config_.n_inner > 0 ? config_.n_inner : 4 * width;
  ActivationFootprint block;
  // Both norms' inputs and outputs, q, k, v, the attention's output; the MLP before and after its activation.
  block.linear = 8 * width + 2 * inner;
  block.attended = width;
  block.passing = width + inner;
  if (config_.resid_pdrop > 0) block.masks = 2 * width;
  if (config_.attn_pdrop > 0) block.dropped = kOfDroppedWeight * config_.n_head;
  return block;
}

const ConfigSchema& gpt2_schema() {
  static constexpr ConfigSchema kSchema = {.model_type = "gpt2",
                                           .heads = kHeads,
                                           .layer_class = "GPT2Block",
                                           .keys = kKeys,
                                           .aliases = kAliases,
                                           .old_keys = {},
                                           .spaces_words = true,
                                           .fixed_answers = true,
                                           .adapter_targets = "c_attn"};
  return kSchema;
}

std::shared_ptr<const Architecture> make_gpt2(FamilyConfig given) {
  return std::make_shared<Gpt2Architecture>(std::move(given));
}

}  // namespace hftrain::architectures
