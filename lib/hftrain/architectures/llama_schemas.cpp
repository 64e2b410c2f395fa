// Keys and class defaults of the families that share Llama's blocks.
#include "hftrain/architectures/families.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kLlamaKeys[] = {
    {"attention_bias", ConfigType::kBoolean, "false"},
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "1", true},
    {"eos_token_id", ConfigType::kTokenIds, "2", true},
    {"head_dim", ConfigType::kInteger, "null", true},
    {"hidden_act", ConfigType::kString, R"("silu")"},
    {"hidden_size", ConfigType::kInteger, "4096"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "11008"},
    {"max_position_embeddings", ConfigType::kInteger, "2048"},
    {"mlp_bias", ConfigType::kBoolean, "false"},
    {"num_attention_heads", ConfigType::kInteger, "32"},
    {"num_hidden_layers", ConfigType::kInteger, "32"},
    {"num_key_value_heads", ConfigType::kInteger, "null", true},
    {"pad_token_id", ConfigType::kInteger, "null", true},
    {"pretraining_tp", ConfigType::kInteger, "1", true},
    {"rms_norm_eps", ConfigType::kFloat, "1e-06"},
    {"rope_parameters", ConfigType::kStructure, "null", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "false"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "32000"},
};
constexpr ConfigKey kQwen2Keys[] = {
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "null", true},
    {"eos_token_id", ConfigType::kTokenIds, "null", true},
    {"hidden_act", ConfigType::kString, R"("silu")"},
    {"hidden_size", ConfigType::kInteger, "4096"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "22016"},
    {"layer_types", ConfigType::kStructure, "null", true},
    {"max_position_embeddings", ConfigType::kInteger, "32768"},
    {"max_window_layers", ConfigType::kInteger, "28"},
    {"num_attention_heads", ConfigType::kInteger, "32"},
    {"num_hidden_layers", ConfigType::kInteger, "32"},
    {"num_key_value_heads", ConfigType::kInteger, "32", true},
    {"pad_token_id", ConfigType::kInteger, "null", true},
    {"rms_norm_eps", ConfigType::kFloat, "1e-06"},
    {"rope_parameters", ConfigType::kStructure, "null", true},
    {"sliding_window", ConfigType::kInteger, "4096", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "false"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"use_sliding_window", ConfigType::kBoolean, "false"},
    {"vocab_size", ConfigType::kInteger, "151936"},
};
constexpr ConfigKey kQwen3Keys[] = {
    {"attention_bias", ConfigType::kBoolean, "false"},
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "null", true},
    {"eos_token_id", ConfigType::kTokenIds, "null", true},
    {"head_dim", ConfigType::kInteger, "128"},
    {"hidden_act", ConfigType::kString, R"("silu")"},
    {"hidden_size", ConfigType::kInteger, "4096"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "22016"},
    {"layer_types", ConfigType::kStructure, "null", true},
    {"max_position_embeddings", ConfigType::kInteger, "32768"},
    {"max_window_layers", ConfigType::kInteger, "28"},
    {"num_attention_heads", ConfigType::kInteger, "32"},
    {"num_hidden_layers", ConfigType::kInteger, "32"},
    {"num_key_value_heads", ConfigType::kInteger, "32", true},
    {"pad_token_id", ConfigType::kInteger, "null", true},
    {"rms_norm_eps", ConfigType::kFloat, "1e-06"},
    {"rope_parameters", ConfigType::kStructure, "null", true},
    {"sliding_window", ConfigType::kInteger, "4096", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "false"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"use_sliding_window", ConfigType::kBoolean, "false"},
    {"vocab_size", ConfigType::kInteger, "151936"},
};
constexpr ConfigKey kMistralKeys[] = {
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "1", true},
    {"eos_token_id", ConfigType::kTokenIds, "2", true},
    {"head_dim", ConfigType::kInteger, "null", true},
    {"hidden_act", ConfigType::kString, R"("silu")"},
    {"hidden_size", ConfigType::kInteger, "4096"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "14336"},
    {"max_position_embeddings", ConfigType::kInteger, "131072"},
    {"num_attention_heads", ConfigType::kInteger, "32"},
    {"num_hidden_layers", ConfigType::kInteger, "32"},
    {"num_key_value_heads", ConfigType::kInteger, "8", true},
    {"pad_token_id", ConfigType::kInteger, "null", true},
    {"rms_norm_eps", ConfigType::kFloat, "1e-06"},
    {"rope_parameters", ConfigType::kStructure, "null", true},
    {"sliding_window", ConfigType::kInteger, "4096", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "false"},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "32000"},
};

constexpr ConfigKey kGemmaKeys[] = {
    {"attention_bias", ConfigType::kBoolean, "false"},
    {"attention_dropout", ConfigType::kFloat, "0.0"},
    {"bos_token_id", ConfigType::kInteger, "2", true},
    {"eos_token_id", ConfigType::kTokenIds, "1", true},
    {"head_dim", ConfigType::kInteger, "256"},
    {"hidden_act", ConfigType::kString, R"("gelu_pytorch_tanh")"},
    {"hidden_size", ConfigType::kInteger, "3072"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "24576"},
    {"max_position_embeddings", ConfigType::kInteger, "8192"},
    {"num_attention_heads", ConfigType::kInteger, "16"},
    {"num_hidden_layers", ConfigType::kInteger, "28"},
    {"num_key_value_heads", ConfigType::kInteger, "16", true},
    {"pad_token_id", ConfigType::kInteger, "0", true},
    {"rms_norm_eps", ConfigType::kFloat, "1e-06"},
    {"rope_parameters", ConfigType::kStructure, "null", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "true"},
    {"use_bidirectional_attention", ConfigType::kBoolean, "null", true},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "256000"},
};

constexpr ConfigKey kOldKeys[] = {{"rope_theta", ConfigType::kFloat, "10000.0"}};

// Question answering calls the body "transformer"; Mistral's does not.
constexpr HeadSpec kLlamaHeads[] = {
    {Head::kCausalLm, "LlamaForCausalLM", "model", "lm_head"},
    {Head::kSequenceClassification, "LlamaForSequenceClassification", "model", "score"},
    {Head::kTokenClassification, "LlamaForTokenClassification", "model", "score", /*bias=*/true},
    {Head::kQuestionAnswering, "LlamaForQuestionAnswering", "transformer", "qa_outputs", /*bias=*/true},
};
constexpr HeadSpec kQwen2Heads[] = {
    {Head::kCausalLm, "Qwen2ForCausalLM", "model", "lm_head"},
    {Head::kSequenceClassification, "Qwen2ForSequenceClassification", "model", "score"},
    {Head::kTokenClassification, "Qwen2ForTokenClassification", "model", "score", /*bias=*/true},
    {Head::kQuestionAnswering, "Qwen2ForQuestionAnswering", "transformer", "qa_outputs", /*bias=*/true},
};
constexpr HeadSpec kQwen3Heads[] = {
    {Head::kCausalLm, "Qwen3ForCausalLM", "model", "lm_head"},
    {Head::kSequenceClassification, "Qwen3ForSequenceClassification", "model", "score"},
    {Head::kTokenClassification, "Qwen3ForTokenClassification", "model", "score", /*bias=*/true},
    {Head::kQuestionAnswering, "Qwen3ForQuestionAnswering", "transformer", "qa_outputs", /*bias=*/true},
};
constexpr HeadSpec kMistralHeads[] = {
    {Head::kCausalLm, "MistralForCausalLM", "model", "lm_head"},
    {Head::kSequenceClassification, "MistralForSequenceClassification", "model", "score"},
    {Head::kTokenClassification, "MistralForTokenClassification", "model", "score", /*bias=*/true},
    {Head::kQuestionAnswering, "MistralForQuestionAnswering", "model", "qa_outputs", /*bias=*/true},
};

constexpr HeadSpec kGemmaHeads[] = {
    {Head::kCausalLm, "GemmaForCausalLM", "model", "lm_head"},
    {Head::kSequenceClassification, "GemmaForSequenceClassification", "model", "score"},
    {Head::kTokenClassification, "GemmaForTokenClassification", "model", "score", /*bias=*/true},
};

constexpr ConfigSchema schema_of(const char* model_type, std::span<const HeadSpec> heads,
                                 const char* layer_class, std::span<const ConfigKey> keys) {
  return {.model_type = model_type,
          .heads = heads,
          .layer_class = layer_class,
          .keys = keys,
          .aliases = {},
          .old_keys = kOldKeys,
          .has_rope = true,
          .fixed_answers = true,
          .adapter_targets = "q_proj,v_proj"};
}

// transformers:models/qwen2/tokenization_qwen2.py
constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr ConfigSchema with_pattern(ConfigSchema schema, const char* pattern) {
  schema.tokenizer_pattern = pattern;
  return schema;
}

constexpr ConfigSchema kLlama = schema_of("llama", kLlamaHeads, "LlamaDecoderLayer", kLlamaKeys);
constexpr ConfigSchema kQwen2 =
    with_pattern(schema_of("qwen2", kQwen2Heads, "Qwen2DecoderLayer", kQwen2Keys), kQwen2Pattern);
constexpr ConfigSchema kQwen3 = schema_of("qwen3", kQwen3Heads, "Qwen3DecoderLayer", kQwen3Keys);
constexpr ConfigSchema kMistral = schema_of("mistral", kMistralHeads, "MistralDecoderLayer", kMistralKeys);
constexpr ConfigSchema kGemma = schema_of("gemma", kGemmaHeads, "GemmaDecoderLayer", kGemmaKeys);

}  // namespace

const ConfigSchema& llama_schema() {
  return kLlama;
}
const ConfigSchema& qwen2_schema() {
  return kQwen2;
}
const ConfigSchema& qwen3_schema() {
  return kQwen3;
}
const ConfigSchema& gemma_schema() {
  return kGemma;
}
const ConfigSchema& mistral_schema() {
  return kMistral;
}

}  // namespace hftrain::architectures
