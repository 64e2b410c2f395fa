#include "hftrain/architectures/bart.h"

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/dropped_weights.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kBartKeys[] = {
    {"activation_dropout", ConfigType::kFloat, "0.0"},
    {"activation_function", ConfigType::kString, R"("gelu")"},
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "0", true},
    {"classifier_dropout", ConfigType::kFloat, "0.0"},
    {"d_model", ConfigType::kInteger, "1024"},
    {"decoder_attention_heads", ConfigType::kInteger, "16"},
    {"decoder_ffn_dim", ConfigType::kInteger, "4096"},
    {"decoder_layerdrop", ConfigType::kFloat, "0.0"},
    {"decoder_layers", ConfigType::kInteger, "12"},
    {"decoder_start_token_id", ConfigType::kInteger, "2", true},
    {"dropout", ConfigType::kFloat, "0.1"},
    {"encoder_attention_heads", ConfigType::kInteger, "16"},
    {"encoder_ffn_dim", ConfigType::kInteger, "4096"},
    {"encoder_layerdrop", ConfigType::kFloat, "0.0"},
    {"encoder_layers", ConfigType::kInteger, "12"},
    {"eos_token_id", ConfigType::kTokenIds, "2", true},
    {"forced_eos_token_id", ConfigType::kTokenIds, "2", true},
    {"init_std", ConfigType::kFloat, "0.02"},
    {"is_decoder", ConfigType::kBoolean, "false"},
    {"is_encoder_decoder", ConfigType::kBoolean, "true"},
    {"max_position_embeddings", ConfigType::kInteger, "1024"},
    {"pad_token_id", ConfigType::kInteger, "1", true},
    {"scale_embedding", ConfigType::kBoolean, "false"},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "50265"},
};
constexpr ConfigAlias kBartAliases[] = {
    {"hidden_size", "d_model"},
    {"num_attention_heads", "encoder_attention_heads"},
    {"num_hidden_layers", "encoder_layers"},
};
constexpr HeadSpec kBartHeads[] = {
    {Head::kSeq2SeqLm, "BartForConditionalGeneration", "model", "lm_head"},
    {Head::kSequenceClassification, "BartForSequenceClassification", "model", "classification_head.out_proj",
     /*bias=*/true},
    {Head::kQuestionAnswering, "BartForQuestionAnswering", "model", "qa_outputs", /*bias=*/true},
};
constexpr int64_t kBartLabels = 3;

BartStack read_stack(const std::string& name, int64_t width, ConfigValues& values) {
  const std::string heads = name + "_attention_heads";
  BartStack stack;
  stack.layers = values.positive((name + "_layers").c_str(), ConfigValues::kMostLayers);
  stack.attention_heads = values.positive(heads.c_str());
  stack.ffn_dim = values.positive((name + "_ffn_dim").c_str());
  stack.layerdrop = values.dropout((name + "_layerdrop").c_str());
  values.require_multiple("d_model", width, heads.c_str(), stack.attention_heads);
  return stack;
}

BartConfig read_bart(const Json& json, const std::string& origin) {
  ConfigValues values(json, origin);
  BartConfig config;
  config.vocab_size = values.positive("vocab_size");
  config.d_model = values.positive("d_model");
  config.max_position_embeddings =
      values.positive("max_position_embeddings", ConfigValues::kLargestSize - BartConfig::kPositionOffset);
  config.encoder = read_stack("encoder", config.d_model, values);
  config.decoder = read_stack("decoder", config.d_model, values);
  config.activation = values.activation("activation_function");
  config.dropout = values.dropout("dropout");
  config.attention_dropout = values.dropout("attention_dropout");
  config.activation_dropout = values.dropout("activation_dropout");
  config.classifier_dropout = values.dropout("classifier_dropout");
  config.init_std = values.from_zero("init_std");
  config.scale_embedding = values.get<bool>("scale_embedding");
  if (values.get<bool>("is_decoder"))
    values.refuse("a decoder of BART alone is not implemented", "is_decoder is true");
  values.require_no_is_causal();
  if (!values.get<bool>("tie_word_embeddings"))
    values.refuse("BART with embeddings of its own in each stack is not implemented",
                  "tie_word_embeddings is false; published models tie them");
  values.finish();
  return config;
}

class BartTable {
 public:
  BartTable(const BartConfig& config, const FamilyConfig& given, const std::string& prefix,
            std::optional<int64_t> padding, int64_t outputs)
      : config_(config), given_(given), outputs_(outputs), builder_(config.init_std, prefix, given.origin) {
    builder_.begin_unit(kEmbeddings);
    builder_.embedding("shared", config.vocab_size, config.d_model, 0, padding);
    builder_.tie("model.encoder.embed_tokens.weight", "shared.weight");
  }

  ParameterTable build() {
    stack(kEmbeddings, "encoder.", config_.encoder, false);
    builder_.begin_unit(kDecoderEmbeddings);
    builder_.tie("model.decoder.embed_tokens.weight", "shared.weight");
    stack(kDecoderEmbeddings, "decoder.", config_.decoder, true);
    builder_.begin_unit("head");
    head();
    return builder_.finish({R"(^(model\.)?(encoder|decoder)\.version$)"});
  }

 private:
  static constexpr const char* kEmbeddings = "embeddings";
  static constexpr const char* kDecoderEmbeddings = "decoder.embeddings";

  void square(const std::string& name) { linear(name, config_.d_model, config_.d_model); }
  // Matrices are stored [out, in].
  void linear(const std::string& name, int64_t out, int64_t in) { builder_.matrix(name, out, in, out); }
  void norm(const std::string& name) { builder_.norm(name, config_.d_model, /*with_bias=*/true); }

  void attention(const std::string& layer, const std::string& name) {
    for (const char* matrix : {".k_proj", ".v_proj", ".q_proj", ".out_proj"}) square(layer + name + matrix);
    norm(layer + name + "_layer_norm");
  }

  void stack(const char* embeddings, const std::string& name, const BartStack& stack, bool attends_encoder) {
    builder_.embedding(name + "embed_positions",
                       config_.max_position_embeddings + BartConfig::kPositionOffset, config_.d_model);
    for (int64_t i = 0; i < stack.layers; ++i) {
      const std::string layer = name + "layers." + std::to_string(i) + '.';
      builder_.begin_block(i, name);
      attention(layer, "self_attn");
      if (attends_encoder) attention(layer, "encoder_attn");
      linear(layer + "fc1", stack.ffn_dim, config_.d_model);
      linear(layer + "fc2", config_.d_model, stack.ffn_dim);
      norm(layer + "final_layer_norm");
    }
    builder_.continue_unit(embeddings);
    norm(name + "layernorm_embedding");
  }

  void head() {
    const Head head = given_.head.head;
    builder_.begin_head();
    if (head == Head::kSequenceClassification) square("classification_head.dense");
    const bool speaks = head == Head::kSeq2SeqLm;
    append_head(builder_, given_.head, outputs_, config_.d_model, speaks ? "shared.weight" : "");
    if (speaks) builder_.buffer("final_logits_bias", {1, config_.vocab_size});
  }

  const BartConfig& config_;
  const FamilyConfig& given_;
  int64_t outputs_;
  ParameterTableBuilder builder_;
};

ActivationFootprint bart_block(const BartConfig& config, const BartStack& stack) {
  ActivationFootprint block;
  // Both norms' inputs and outputs, q, k, v and the attention's output; the activation's input and output.
  block.linear = 8 * config.d_model + 2 * stack.ffn_dim;
  block.attended = config.d_model;
  block.passing = config.d_model + stack.ffn_dim;
  if (config.dropout > 0) block.masks += 2 * config.d_model;
  if (config.activation_dropout > 0) block.masks += stack.ffn_dim;
  if (config.attention_dropout > 0) block.dropped = kOfDroppedWeight * stack.attention_heads;
  return block;
}

}  // namespace

BartArchitecture::BartArchitecture(FamilyConfig config)
    : FamilyArchitecture(std::move(config)), config_(read_bart(given().json, given().origin)) {
  set_table(BartTable(config_, given(), base_prefix(), pad_token_id(), outputs()).build());
}

ActivationFootprint BartArchitecture::activations() const {
  return bart_block(config_, config_.encoder);
}

std::vector<BlockStack> BartArchitecture::stacks() const {
  ActivationFootprint decoder = bart_block(config_, config_.decoder);
  // One more norm, queries, the attention's output; of the encoder's tokens keys and values.
  decoder.linear += 4 * config_.d_model;
  decoder.attended += config_.d_model;
  decoder.encoded = 2 * config_.d_model;
  if (config_.dropout > 0) decoder.masks += config_.d_model;
  if (config_.attention_dropout > 0) decoder.cross = kOfDroppedWeight * config_.decoder.attention_heads;
  return {{config_.encoder.layers, activations(), false}, {config_.decoder.layers, decoder, true}};
}

const ConfigSchema& bart_schema() {
  static constexpr ConfigSchema kSchema = {.model_type = "bart",
                                           .heads = kBartHeads,
                                           .layer_class = "BartEncoderLayer",
                                           .keys = kBartKeys,
                                           .aliases = kBartAliases,
                                           .default_labels = kBartLabels,
                                           .adapter_targets = "q_proj,v_proj"};
  return kSchema;
}

std::shared_ptr<const Architecture> make_bart(FamilyConfig given) {
  return std::make_shared<BartArchitecture>(std::move(given));
}

}  // namespace hftrain::architectures
