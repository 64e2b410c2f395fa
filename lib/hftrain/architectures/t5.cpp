#include "hftrain/architectures/t5.h"

#include <cmath>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/dropped_weights.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kT5Keys[] = {
    {"classifier_dropout", ConfigType::kFloat, "0.0"},
    {"d_ff", ConfigType::kInteger, "2048"},
    {"d_kv", ConfigType::kInteger, "64"},
    {"d_model", ConfigType::kInteger, "512"},
    {"dense_act_fn", ConfigType::kString, "null", true},
    {"dropout_rate", ConfigType::kFloat, "0.1"},
    {"eos_token_id", ConfigType::kTokenIds, "1", true},
    {"feed_forward_proj", ConfigType::kString, R"("relu")"},
    {"initializer_factor", ConfigType::kFloat, "1.0"},
    {"is_decoder", ConfigType::kBoolean, "false"},
    {"is_encoder_decoder", ConfigType::kBoolean, "true"},
    {"is_gated_act", ConfigType::kBoolean, "null", true},
    {"layer_norm_epsilon", ConfigType::kFloat, "1e-06"},
    {"num_decoder_layers", ConfigType::kInteger, "null", true},
    {"num_heads", ConfigType::kInteger, "8"},
    {"num_layers", ConfigType::kInteger, "6"},
    {"pad_token_id", ConfigType::kInteger, "0", true},
    {"relative_attention_max_distance", ConfigType::kInteger, "128"},
    {"relative_attention_num_buckets", ConfigType::kInteger, "32"},
    {"scale_decoder_outputs", ConfigType::kBoolean, "null", true},
    {"tie_word_embeddings", ConfigType::kBoolean, "true", true},
    {"use_cache", ConfigType::kBoolean, "true"},
    {"vocab_size", ConfigType::kInteger, "32128"},
};
constexpr ConfigAlias kT5Aliases[] = {
    {"head_dim", "d_kv"},
    {"hidden_size", "d_model"},
    {"num_attention_heads", "num_heads"},
    {"num_hidden_layers", "num_layers", "num_decoder_layers"},
};
// Of generation; a config has it where it was given.
constexpr ConfigKey kT5GenerationKeys[] = {{"decoder_start_token_id", ConfigType::kInteger, "null", true}};
constexpr HeadSpec kT5Heads[] = {
    {Head::kSeq2SeqLm, "T5ForConditionalGeneration", "", "lm_head"},
    {Head::kSequenceClassification, "T5ForSequenceClassification", "transformer",
     "classification_head.out_proj",
     /*bias=*/true},
    {Head::kTokenClassification, "T5ForTokenClassification", "transformer", "classifier", /*bias=*/true},
    {Head::kQuestionAnswering, "T5ForQuestionAnswering", "", "qa_outputs", /*bias=*/true},
};

bool has_decoder(Head head) {
  return head != Head::kTokenClassification;
}

// "relu", "gated-gelu", ….
void derive_activation(Json& json) {
  const std::string projection = json["feed_forward_proj"];
  const size_t dash = projection.find('-');
  if (json["dense_act_fn"].is_null()) {
    json["dense_act_fn"] = projection == "gated-gelu"  ? "gelu_new"
                           : dash == std::string::npos ? projection
                                                       : projection.substr(projection.rfind('-') + 1);
  }
  if (json["is_gated_act"].is_null()) json["is_gated_act"] = projection.substr(0, dash) == "gated";
}

// What T5Config makes of a file. Old files of v1.1 say that their outputs are not scaled by tie_word_embeddings; a
// file that says it by scale_decoder_outputs keeps the other key for what it is called.
void derive_missing(Head head, Json& json) {
  if (json["num_decoder_layers"].is_null()) json["num_decoder_layers"] = json["num_layers"];
  derive_activation(json);
  const bool scaled = json["tie_word_embeddings"] != false;
  if (json["scale_decoder_outputs"].is_null()) {
    json["scale_decoder_outputs"] = scaled;
    json["tie_word_embeddings"] = true;
  } else if (scaled) {
    json["tie_word_embeddings"] = true;
  }
  if (has_decoder(head)) return;
  json["is_encoder_decoder"] = false;
  json["use_cache"] = false;
}

void check_projection(const std::string& projection, ConfigValues& values) {
  const size_t dash = projection.find('-');
  if (dash == std::string::npos || (projection.substr(0, dash) == "gated" && dash == projection.rfind('-')))
    return;
  values.refuse("feed_forward_proj must be an activation, or \"gated-\" and an activation",
                "it is " + projection);
}

T5Config read_config(const FamilyConfig& given) {
  ConfigValues values(given.json, given.origin);
  T5Config config;
  config.vocab_size = values.positive("vocab_size");
  config.d_model = values.positive("d_model");
  config.d_kv = values.positive("d_kv");
  config.d_ff = values.positive("d_ff");
  config.num_heads = values.positive("num_heads");
  config.num_layers = values.positive("num_layers", ConfigValues::kMostLayers);
  config.num_decoder_layers = values.positive("num_decoder_layers", ConfigValues::kMostLayers);
  if (!has_decoder(given.head.head)) config.num_decoder_layers = 0;
  config.relative_attention_num_buckets = values.positive("relative_attention_num_buckets");
  config.relative_attention_max_distance = values.positive("relative_attention_max_distance");
  // A direction has half of them, and half of those are for single distances.
  if (config.relative_attention_num_buckets < 4)
    values.refuse("relative_attention_num_buckets must be 4 or more",
                  "a direction has half of them, and half of those are for single distances");
  if (config.relative_attention_max_distance <= config.relative_attention_num_buckets / 2)
    values.refuse("relative_attention_max_distance must be above half of relative_attention_num_buckets",
                  "the other buckets are for the distances between");
  config.activation = values.activation("dense_act_fn");
  config.is_gated = values.get<bool>("is_gated_act");
  check_projection(values.get<std::string>("feed_forward_proj"), values);
  config.dropout_rate = values.dropout("dropout_rate");
  config.classifier_dropout = values.dropout("classifier_dropout");
  config.layer_norm_epsilon = values.from_zero("layer_norm_epsilon");
  config.initializer_factor = values.from_zero("initializer_factor");
  config.scale_decoder_outputs = values.get<bool>("scale_decoder_outputs");
  config.tied = values.get<bool>("tie_word_embeddings");
  if (values.get<bool>("is_decoder"))
    values.refuse("a decoder of T5 alone is not implemented", "is_decoder is true");
  values.require_no_is_causal();
  values.finish();
  return config;
}

class T5Table {
 public:
  T5Table(const T5Config& config, const FamilyConfig& given, const std::string& prefix, int64_t outputs)
      : config_(config),
        given_(given),
        prefix_(prefix),
        outputs_(outputs),
        builder_(config.initializer_factor, prefix, given.origin) {}

  ParameterTable build() {
    builder_.begin_unit("embeddings");
    builder_.embedding("shared", config_.vocab_size, config_.d_model);
    builder_.tie(prefix_ + "encoder.embed_tokens.weight", "shared.weight");
    stack("encoder.", config_.num_layers, false);
    if (config_.num_decoder_layers > 0) {
      builder_.begin_unit("decoder.embeddings");
      norm("encoder.final_layer_norm");
      builder_.tie(prefix_ + "decoder.embed_tokens.weight", "shared.weight");
      stack("decoder.", config_.num_decoder_layers, true);
    }
    builder_.begin_unit("head");
    norm(config_.num_decoder_layers > 0 ? "decoder.final_layer_norm" : "encoder.final_layer_norm");
    head();
    // Stored by older releases; a class without a decoder opens a checkpoint that has one.
    std::vector<std::string> ignored = {
        R"(^(transformer\.)?decoder\.block\.0\.layer\.1\.EncDecAttention\.relative)"};
    if (config_.num_decoder_layers == 0) ignored.emplace_back(R"(^(transformer\.)?decoder\.)");
    return builder_.finish(std::move(ignored));
  }

 private:
  double scaled(double width) const { return config_.initializer_factor / std::sqrt(width); }
  double by_width() const { return scaled(static_cast<double>(config_.d_model)); }
  void norm(const std::string& name) {
    builder_.constant_norm(name, config_.d_model, config_.initializer_factor);
  }
  // Matrices are stored [out, in], without biases.
  void matrix(const std::string& name, int64_t out, int64_t in, double std) {
    builder_.matrix(name, out, in, /*bias=*/0, std);
  }

  void attention(const std::string& name, bool with_positions) {
    const int64_t width = config_.d_model, inner = config_.attention_width();
    matrix(name + ".q", inner, width, scaled(static_cast<double>(width * config_.d_kv)));
    matrix(name + ".k", inner, width, by_width());
    matrix(name + ".v", inner, width, by_width());
    matrix(name + ".o", width, inner, scaled(static_cast<double>(inner)));
    if (!with_positions) return;
    // It does not decay, because "bias" is in its name.
    builder_.embedding(name + ".relative_attention_bias", config_.relative_attention_num_buckets,
                       config_.num_heads, by_width(), /*padding=*/std::nullopt, /*decay=*/false);
  }

  void feed_forward(const std::string& name) {
    for (const char* input : {"wi_0", "wi_1"}) {
      if (config_.is_gated) matrix(name + '.' + input, config_.d_ff, config_.d_model, by_width());
    }
    if (!config_.is_gated) matrix(name + ".wi", config_.d_ff, config_.d_model, by_width());
    matrix(name + ".wo", config_.d_model, config_.d_ff, scaled(static_cast<double>(config_.d_ff)));
  }

  // The first block of a stack has the table of relative positions of all.
  void stack(const std::string& name, int64_t layers, bool attends_encoder) {
    for (int64_t i = 0; i < layers; ++i) {
      const std::string layer = name + "block." + std::to_string(i) + ".layer.";
      int part = 0;
      builder_.begin_block(i, name);
      attention(layer + "0.SelfAttention", /*with_positions=*/i == 0);
      norm(layer + "0.layer_norm");
      if (attends_encoder) {
        attention(layer + "1.EncDecAttention", /*with_positions=*/false);
        norm(layer + "1.layer_norm");
        ++part;
      }
      const std::string last = layer + std::to_string(part + 1);
      feed_forward(last + ".DenseReluDense");
      norm(last + ".layer_norm");
    }
  }

  void head() {
    const Head head = given_.head.head;
    if (head == Head::kSequenceClassification) {
      builder_.begin_head();
      builder_.matrix("classification_head.dense", config_.d_model, config_.d_model, config_.d_model,
                      by_width());
    }
    const bool tied = head == Head::kSeq2SeqLm && config_.tied;
    const bool narrow = head == Head::kSequenceClassification || head == Head::kQuestionAnswering;
    append_head(builder_, given_.head, outputs_, config_.d_model, tied ? "shared.weight" : "",
                narrow ? by_width() : config_.initializer_factor);
  }

  const T5Config& config_;
  const FamilyConfig& given_;
  std::string prefix_;
  int64_t outputs_;
  ParameterTableBuilder builder_;
};

}  // namespace

T5Architecture::T5Architecture(FamilyConfig config)
    : FamilyArchitecture(std::move(config)), config_(read_config(given())) {
  set_table(T5Table(config_, given(), base_prefix(), outputs()).build());
}

ActivationFootprint T5Architecture::activations() const {
  const int64_t width = config_.d_model, inner = config_.attention_width();
  ActivationFootprint block;
  // Both norms' inputs and outputs, q, k, v and the attention's output; what the activation gets and gives, of which a
  // gate makes a product.
  block.linear = 4 * width + 4 * inner + (config_.is_gated ? 4 : 2) * config_.d_ff;
  block.attended = inner;
  // Attention with a bias keeps its weights; a GPU's kernels keep the bias, of which the blocks of a stack have one.
  block.square = config_.num_heads;
  block.shares_square = true;
  block.passing = width + (config_.is_gated ? 2 : 1) * config_.d_ff;
  if (config_.dropout_rate > 0) {
    block.linear += config_.d_ff;  // what is left of the activation, beside what it gives
    block.masks = 2 * width + config_.d_ff;
    block.dropped = kOfDroppedWeight * config_.num_heads;
  }
  return block;
}

std::vector<BlockStack> T5Architecture::stacks() const {
  const int64_t width = config_.d_model, inner = config_.attention_width();
  const ActivationFootprint encoder = activations();
  ActivationFootprint decoder = encoder;
  // One more norm's input and output, queries, the attention's output; of the encoder's tokens keys and values.
  decoder.linear += 2 * width + 2 * inner;
  decoder.attended += inner;
  decoder.encoded = 2 * inner;
  if (config_.dropout_rate > 0) {
    decoder.masks += width;
    decoder.cross = kOfDroppedWeight * config_.num_heads;
  }
  std::vector<BlockStack> stacks = {{config_.num_layers, encoder, false}};
  if (config_.num_decoder_layers > 0) stacks.push_back({config_.num_decoder_layers, decoder, true});
  return stacks;
}

const ConfigSchema& t5_schema() {
  static constexpr ConfigSchema kSchema = {.model_type = "t5",
                                           .heads = kT5Heads,
                                           .layer_class = "T5Block",
                                           .keys = kT5Keys,
                                           .aliases = kT5Aliases,
                                           .old_keys = kT5GenerationKeys,
                                           .ties_by_files = true,
                                           .adapter_targets = "q,v"};
  return kSchema;
}

std::shared_ptr<const Architecture> make_t5(FamilyConfig given) {
  derive_missing(given.head.head, given.json);
  return std::make_shared<T5Architecture>(std::move(given));
}

}  // namespace hftrain::architectures
