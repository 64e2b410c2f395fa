// The config keys and the heads of BERT and RoBERTa.
#include "hftrain/architectures/families.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kBertKeys[] = {
    {"add_cross_attention", ConfigType::kBoolean, "false"},
    {"attention_probs_dropout_prob", ConfigType::kFloat, "0.1"},
    {"bos_token_id", ConfigType::kInteger, "null", true},
    {"classifier_dropout", ConfigType::kFloat, "null", true},
    {"eos_token_id", ConfigType::kTokenIds, "null", true},
    {"hidden_act", ConfigType::kString, R"("gelu")"},
    {"hidden_dropout_prob", ConfigType::kFloat, "0.1"},
    {"hidden_size", ConfigType::kInteger, "768"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "3072"},
    {"is_decoder", ConfigType::kBoolean, "false"},
    {"layer_norm_eps", ConfigType::kFloat, "1e-12"},
    {"max_position_embeddings", ConfigType::kInteger, "512"},
    {"num_attention_heads", ConfigType::kInteger, "12"},
    {"num_hidden_layers", ConfigType::kInteger, "12"},
    {"pad_token_id", ConfigType::kInteger, "0", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"type_vocab_size", ConfigType::kInteger, "2"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "30522"},
};
constexpr ConfigKey kRobertaKeys[] = {
    {"add_cross_attention", ConfigType::kBoolean, "false"},
    {"attention_probs_dropout_prob", ConfigType::kFloat, "0.1"},
    {"bos_token_id", ConfigType::kInteger, "0", true},
    {"classifier_dropout", ConfigType::kFloat, "null", true},
    {"eos_token_id", ConfigType::kTokenIds, "2", true},
    {"hidden_act", ConfigType::kString, R"("gelu")"},
    {"hidden_dropout_prob", ConfigType::kFloat, "0.1"},
    {"hidden_size", ConfigType::kInteger, "768"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "3072"},
    {"is_decoder", ConfigType::kBoolean, "false"},
    {"layer_norm_eps", ConfigType::kFloat, "1e-12"},
    {"max_position_embeddings", ConfigType::kInteger, "512"},
    {"num_attention_heads", ConfigType::kInteger, "12"},
    {"num_hidden_layers", ConfigType::kInteger, "12"},
    {"pad_token_id", ConfigType::kInteger, "1", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"type_vocab_size", ConfigType::kInteger, "2"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "50265"},
};
constexpr HeadSpec kBertHeads[] = {
    {Head::kMaskedLm, "BertForMaskedLM", "bert", "cls.predictions.decoder", /*bias=*/true},
    {Head::kSequenceClassification, "BertForSequenceClassification", "bert", "classifier", /*bias=*/true},
    {Head::kTokenClassification, "BertForTokenClassification", "bert", "classifier", /*bias=*/true},
    {Head::kQuestionAnswering, "BertForQuestionAnswering", "bert", "qa_outputs", /*bias=*/true},
};
constexpr HeadSpec kRobertaHeads[] = {
    {Head::kMaskedLm, "RobertaForMaskedLM", "roberta", "lm_head.decoder", /*bias=*/true},
    {Head::kSequenceClassification, "RobertaForSequenceClassification", "roberta", "classifier.out_proj",
     /*bias=*/true},
    {Head::kTokenClassification, "RobertaForTokenClassification", "roberta", "classifier", /*bias=*/true},
    {Head::kQuestionAnswering, "RobertaForQuestionAnswering", "roberta", "qa_outputs", /*bias=*/true},
};
}  // namespace

const ConfigSchema& bert_schema() {
  static constexpr ConfigSchema kSchema = {.model_type = "bert",
                                           .heads = kBertHeads,
                                           .layer_class = "BertLayer",
                                           .keys = kBertKeys,
                                           .aliases = {},
                                           .old_keys = {},
                                           .adapter_targets = "query,value"};
  return kSchema;
}

const ConfigSchema& roberta_schema() {
  static constexpr ConfigSchema kSchema = {.model_type = "roberta",
                                           .heads = kRobertaHeads,
                                           .layer_class = "RobertaLayer",
                                           .keys = kRobertaKeys,
                                           .aliases = {},
                                           .old_keys = {},
                                           .spaces_words = true,
                                           .adapter_targets = "query,value"};
  return kSchema;
}

}  // namespace hftrain::architectures
