// BERT and RoBERTa: the same blocks, other positions and other heads.
#include <utility>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/encoder.h"
#include "hftrain/architectures/families.h"

namespace hftrain::architectures {
namespace {

constexpr EncoderBlockNames kBertBlock = {.query = "attention.self.query",
                                          .key = "attention.self.key",
                                          .value = "attention.self.value",
                                          .attended = "attention.output.dense",
                                          .attended_norm = "attention.output.LayerNorm",
                                          .inner = "intermediate.dense",
                                          .outer = "output.dense",
                                          .outer_norm = "output.LayerNorm"};

// The second family counts its positions, and has heads of its own making.
bool is_roberta(const FamilyConfig& given) {
  return &given.schema == &roberta_schema();
}

EncoderHead read_bert_head(const FamilyConfig& given, ConfigValues& values, const EncoderConfig& config) {
  const bool roberta = is_roberta(given);
  EncoderHead head;
  switch (given.head.head) {
    case Head::kMaskedLm:
      head.activation = roberta ? "gelu" : config.activation;
      head.bias_first = true;
      break;
    case Head::kSequenceClassification:
      head.activation = "tanh";
      head.drops_first_too = roberta;
      [[fallthrough]];
    case Head::kTokenClassification:
      head.dropout =
          given.json["classifier_dropout"].is_null() ? config.dropout : values.dropout("classifier_dropout");
      break;
    default:
      break;
  }
  return head;
}

// Of an encoder alone.
void refuse_other_kinds(const FamilyConfig& given, ConfigValues& values) {
  if (values.get<bool>("is_decoder"))
    values.refuse("is_decoder: " + std::string(given.schema.model_type) + " as a decoder is not implemented",
                  "its attention would look at earlier tokens alone");
  if (values.get<bool>("add_cross_attention"))
    values.refuse("add_cross_attention is not implemented", "there is no decoder that it would attend for");
  values.require_bidirectional();
  const Json positions = given.json.value("position_embedding_type", Json());
  if (!positions.is_null() && positions != "absolute")
    values.refuse("position_embedding_type must be \"absolute\"",
                  "it is " + positions.dump(-1, ' ', false, Json::error_handler_t::replace) +
                      ", whose maths is not implemented");
}

EncoderConfig read_bert_config(const FamilyConfig& given) {
  ConfigValues values(given.json, given.origin);
  EncoderConfig config;
  config.vocab_size = values.positive("vocab_size");
  config.hidden_size = values.positive("hidden_size");
  config.intermediate_size = values.positive("intermediate_size");
  config.layers = values.positive("num_hidden_layers", ConfigValues::kMostLayers);
  config.heads = values.positive("num_attention_heads");
  config.positions = values.positive("max_position_embeddings");
  config.token_types = values.positive("type_vocab_size");
  config.padding = values.row("pad_token_id", config.vocab_size);
  config.activation = values.activation("hidden_act");
  config.layer_norm_eps = values.from_zero("layer_norm_eps");
  config.dropout = config.attended_dropout = values.dropout("hidden_dropout_prob");
  config.attention_dropout = values.dropout("attention_probs_dropout_prob");
  config.initializer_range = values.from_zero("initializer_range");
  config.tie_word_embeddings = values.get<bool>("tie_word_embeddings");
  config.counts_positions = config.positions_after_norm = is_roberta(given);
  config.head = read_bert_head(given, values, config);
  values.require_multiple("hidden_size", config.hidden_size, "num_attention_heads", config.heads);
  refuse_other_kinds(given, values);
  if (config.counts_positions && (!config.padding || *config.padding + 1 >= config.positions))
    values.refuse("pad_token_id must be a token, and max_position_embeddings more than one above it",
                  "positions are counted from the padding token's number on");
  values.finish();
  return config;
}

void add_bert_embeddings(ParameterTableBuilder& builder, const EncoderConfig& config) {
  const int64_t width = config.hidden_size;
  const auto positions = [&] {
    builder.embedding("embeddings.position_embeddings", config.positions, width, /*std=*/0,
                      config.counts_positions ? config.padding : std::nullopt);
  };
  builder.begin_unit("embeddings");
  builder.embedding("embeddings.word_embeddings", config.vocab_size, width, /*std=*/0, config.padding);
  if (!config.positions_after_norm) positions();
  builder.embedding("embeddings.token_type_embeddings", config.token_types, width);
  builder.norm("embeddings.LayerNorm", width, /*with_bias=*/true);
  if (config.positions_after_norm) positions();
}

// The first matrix of a head that has two, as its class calls it and its norm.
struct BertTransform {
  const char *bias, *dense, *norm;
};
constexpr BertTransform kBertNames = {"cls.predictions.bias", "cls.predictions.transform.dense",
                                      "cls.predictions.transform.LayerNorm"};
constexpr BertTransform kRobertaNames = {"lm_head.bias", "lm_head.dense", "lm_head.layer_norm"};

// An untied matrix comes with a bias of its own, and the first one is then used by nobody, as in transformers.
void add_bert_masked_lm(ParameterTableBuilder& builder, const EncoderConfig& config,
                        const FamilyConfig& given) {
  const BertTransform& names = is_roberta(given) ? kRobertaNames : kBertNames;
  const std::string matrix = given.head.matrix;
  builder.begin_head();
  builder.bias(names.bias, config.vocab_size, config.tie_word_embeddings ? matrix + ".bias" : "");
  builder.matrix(names.dense, config.hidden_size, config.hidden_size, config.hidden_size);
  builder.norm(names.norm, config.hidden_size, /*with_bias=*/true);
  if (!config.tie_word_embeddings)
    return builder.output_matrix(matrix, config.vocab_size, config.hidden_size, config.vocab_size);
  builder.tie(matrix + ".weight", "embeddings.word_embeddings.weight");
}

void add_bert_head(ParameterTableBuilder& builder, const EncoderConfig& config, const FamilyConfig& given) {
  const int64_t width = config.hidden_size;
  builder.begin_unit("head");
  if (given.head.head == Head::kMaskedLm) return add_bert_masked_lm(builder, config, given);
  if (given.head.head == Head::kSequenceClassification) {
    builder.begin_head(/*within_body=*/!is_roberta(given));
    builder.matrix(is_roberta(given) ? "classifier.dense" : "pooler.dense", width, width, width);
  }
  append_head(builder, given.head, head_outputs(given.head.head, config.vocab_size, given.labels), width, "");
}

ParameterTable build_bert_table(const EncoderConfig& config, const FamilyConfig& given) {
  ParameterTableBuilder builder(config.initializer_range, std::string(given.head.body) + '.', given.origin);
  add_bert_embeddings(builder, config);
  add_encoder_blocks(builder, config, "encoder.layer", kBertBlock);
  add_bert_head(builder, config, given);
  return builder.finish({R"((^|\.)position_ids$)"});
}

}  // namespace

std::shared_ptr<const Architecture> make_bert(FamilyConfig given) {
  EncoderConfig config = read_bert_config(given);
  ParameterTable table = build_bert_table(config, given);
  std::vector<std::string> classes = {"BertEmbeddings", "BertLayer"};
  if (is_roberta(given)) classes = {"RobertaEmbeddings", "RobertaLayer"};
  return std::make_shared<EncoderArchitecture>(std::move(given), std::move(config), std::move(table),
                                               std::move(classes));
}

}  // namespace hftrain::architectures
