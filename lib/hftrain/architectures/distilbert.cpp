// DistilBERT: BERT's blocks without token types and without dropout after the attention, and heads without a pooler.
#include <utility>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/encoder.h"
#include "hftrain/architectures/families.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kDistilbertKeys[] = {
    {"activation", ConfigType::kString, R"("gelu")"},
    {"attention_dropout", ConfigType::kFloat, "0.1"},
    {"bos_token_id", ConfigType::kInteger, "null", true},
    {"dim", ConfigType::kInteger, "768"},
    {"dropout", ConfigType::kFloat, "0.1"},
    {"eos_token_id", ConfigType::kTokenIds, "null", true},
    {"hidden_dim", ConfigType::kInteger, "3072"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"max_position_embeddings", ConfigType::kInteger, "512"},
    {"n_heads", ConfigType::kInteger, "12"},
    {"n_layers", ConfigType::kInteger, "6"},
    {"pad_token_id", ConfigType::kInteger, "0", true},
    {"qa_dropout", ConfigType::kFloat, "0.1"},
    {"seq_classif_dropout", ConfigType::kFloat, "0.2"},
    {"sinusoidal_pos_embds", ConfigType::kBoolean, "false"},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "30522"},
};
constexpr ConfigAlias kDistilbertAliases[] = {
    {"hidden_size", "dim"},
    {"num_attention_heads", "n_heads"},
    {"num_hidden_layers", "n_layers"},
};
constexpr HeadSpec kDistilbertHeads[] = {
    {Head::kMaskedLm, "DistilBertForMaskedLM", "distilbert", "vocab_projector", /*bias=*/true},
    {Head::kSequenceClassification, "DistilBertForSequenceClassification", "distilbert", "classifier",
     /*bias=*/true},
    {Head::kTokenClassification, "DistilBertForTokenClassification", "distilbert", "classifier",
     /*bias=*/true},
    {Head::kQuestionAnswering, "DistilBertForQuestionAnswering", "distilbert", "qa_outputs", /*bias=*/true},
};
constexpr EncoderBlockNames kDistilbertBlock = {.query = "attention.q_lin",
                                                .key = "attention.k_lin",
                                                .value = "attention.v_lin",
                                                .attended = "attention.out_lin",
                                                .attended_norm = "sa_layer_norm",
                                                .inner = "ffn.lin1",
                                                .outer = "ffn.lin2",
                                                .outer_norm = "output_layer_norm"};

EncoderHead read_distilbert_head(Head which, ConfigValues& values, const EncoderConfig& config) {
  switch (which) {
    case Head::kMaskedLm:
      return {.activation = config.activation};
    case Head::kSequenceClassification:
      return {.activation = "relu", .dropout = values.dropout("seq_classif_dropout")};
    case Head::kQuestionAnswering:
      return {.dropout = values.dropout("qa_dropout")};
    default:
      return {.dropout = config.dropout};
  }
}

EncoderConfig read_distilbert_config(const FamilyConfig& given) {
  ConfigValues values(given.json, given.origin);
  EncoderConfig config;
  config.vocab_size = values.positive("vocab_size");
  config.hidden_size = values.positive("dim");
  config.intermediate_size = values.positive("hidden_dim");
  config.layers = values.positive("n_layers", ConfigValues::kMostLayers);
  config.heads = values.positive("n_heads");
  config.positions = values.positive("max_position_embeddings");
  config.padding = values.row("pad_token_id", config.vocab_size);
  config.activation = values.activation("activation");
  config.layer_norm_eps = 1e-12;  // no key says otherwise
  config.dropout = values.dropout("dropout");
  config.attention_dropout = values.dropout("attention_dropout");
  config.initializer_range = values.from_zero("initializer_range");
  config.tie_word_embeddings = values.get<bool>("tie_word_embeddings");
  config.head = read_distilbert_head(given.head.head, values, config);
  values.require_multiple("dim", config.hidden_size, "n_heads", config.heads);
  values.require_bidirectional();
  values.finish();
  return config;
}

void add_distilbert_head(ParameterTableBuilder& builder, const EncoderConfig& config,
                         const FamilyConfig& given) {
  const int64_t width = config.hidden_size;
  const std::string matrix = given.head.matrix;
  builder.begin_unit("head");
  builder.begin_head();
  const bool masked = given.head.head == Head::kMaskedLm;
  if (masked) {
    builder.matrix("vocab_transform", width, width, width);
    builder.norm("vocab_layer_norm", width, /*with_bias=*/true);
  } else if (given.head.head == Head::kSequenceClassification) {
    builder.matrix("pre_classifier", width, width, width);
  }
  if (masked && config.tie_word_embeddings) {
    builder.tie(matrix + ".weight", "embeddings.word_embeddings.weight");
    return builder.bias(matrix + ".bias", config.vocab_size);
  }
  append_head(builder, given.head, head_outputs(given.head.head, config.vocab_size, given.labels), width, "");
}

ParameterTable build_distilbert_table(const EncoderConfig& config, const FamilyConfig& given) {
  ParameterTableBuilder builder(config.initializer_range, std::string(given.head.body) + '.', given.origin);
  builder.begin_unit("embeddings");
  builder.embedding("embeddings.word_embeddings", config.vocab_size, config.hidden_size, /*std=*/0,
                    config.padding);
  if (given.json["sinusoidal_pos_embds"].get<bool>()) {
    builder.sinusoids("embeddings.position_embeddings", config.positions, config.hidden_size);
  } else {
    builder.embedding("embeddings.position_embeddings", config.positions, config.hidden_size);
  }
  builder.norm("embeddings.LayerNorm", config.hidden_size, /*with_bias=*/true);
  add_encoder_blocks(builder, config, "transformer.layer", kDistilbertBlock);
  add_distilbert_head(builder, config, given);
  return builder.finish({R"((^|\.)position_ids$)"});
}

}  // namespace

const ConfigSchema& distilbert_schema() {
  static constexpr ConfigSchema kSchema = {
      "distilbert", kDistilbertHeads, "TransformerBlock", kDistilbertKeys, kDistilbertAliases, {}, false};
  return kSchema;
}

std::shared_ptr<const Architecture> make_distilbert(FamilyConfig given) {
  EncoderConfig config = read_distilbert_config(given);
  ParameterTable table = build_distilbert_table(config, given);
  return std::make_shared<EncoderArchitecture>(std::move(given), std::move(config), std::move(table),
                                               std::vector<std::string>{"TransformerBlock"});
}

}  // namespace hftrain::architectures
