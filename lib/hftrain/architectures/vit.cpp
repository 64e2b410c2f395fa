#include "hftrain/architectures/vit.h"

#include <string_view>
#include <utility>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/dropped_weights.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/parameter_table_builder.h"

namespace hftrain::architectures {
namespace {

constexpr ConfigKey kVitKeys[] = {
    {"attention_probs_dropout_prob", ConfigType::kFloat, "0.0"},
    {"encoder_stride", ConfigType::kInteger, "16"},
    {"hidden_act", ConfigType::kString, R"("gelu")"},
    {"hidden_dropout_prob", ConfigType::kFloat, "0.0"},
    {"hidden_size", ConfigType::kInteger, "768"},
    {"image_size", ConfigType::kSizes, "224"},
    {"initializer_range", ConfigType::kFloat, "0.02"},
    {"intermediate_size", ConfigType::kInteger, "3072"},
    {"layer_norm_eps", ConfigType::kFloat, "1e-12"},
    {"num_attention_heads", ConfigType::kInteger, "12"},
    {"num_channels", ConfigType::kInteger, "3"},
    {"num_hidden_layers", ConfigType::kInteger, "12"},
    {"patch_size", ConfigType::kSizes, "16"},
    {"pooler_act", ConfigType::kString, R"("tanh")"},
    {"pooler_output_size", ConfigType::kInteger, "null", true},
    {"qkv_bias", ConfigType::kBoolean, "true"},
};
constexpr HeadSpec kVitHeads[] = {
    {Head::kImageClassification, "ViTForImageClassification", "vit", "classifier", /*bias=*/true},
};

// One side for both directions, or height and width.
void read_sides(ConfigValues& values, const Json& json, const char* key, int64_t& height, int64_t& width) {
  if (json[key].is_number_integer()) {
    height = width = values.positive(key);
    return;
  }
  const Json& sides = json[key];
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1 || sides[0] > ConfigValues::kLargestSize ||
      sides[1] > ConfigValues::kLargestSize) {
    values.refuse(std::string(key) + " must be one side, or height and width, of 1 or more",
                  "it is " + sides.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  height = sides[0].get<int64_t>();
  width = sides[1].get<int64_t>();
}

void read_image_sides(ConfigValues& values, const Json& json, VitConfig& config) {
  read_sides(values, json, "image_size", config.image_height, config.image_width);
  read_sides(values, json, "patch_size", config.patch_height, config.patch_width);
  config.num_channels = values.positive("num_channels");
  if (config.patch_height > config.image_height || config.patch_width > config.image_width)
    values.refuse("patch_size must not be larger than image_size", "there would not be one whole patch");
}

VitConfig read_vit_config(const Json& json, const std::string& origin) {
  ConfigValues values(json, origin);
  VitConfig config;
  config.hidden_size = values.positive("hidden_size");
  config.num_hidden_layers = values.positive("num_hidden_layers", ConfigValues::kMostLayers);
  config.num_attention_heads = values.positive("num_attention_heads");
  config.intermediate_size = values.positive("intermediate_size");
  const bool explicit_head_dim = json.contains("head_dim") && json["head_dim"].is_number_integer();
  config.head_dim =
      explicit_head_dim ? values.positive("head_dim") : config.hidden_size / config.num_attention_heads;
  if (!explicit_head_dim) {
    values.require_multiple("hidden_size", config.hidden_size, "num_attention_heads",
                            config.num_attention_heads);
  }
  config.hidden_act = values.activation("hidden_act");
  config.layer_norm_eps = values.from_zero("layer_norm_eps");
  config.hidden_dropout_prob = values.dropout("hidden_dropout_prob");
  config.attention_probs_dropout_prob = values.dropout("attention_probs_dropout_prob");
  config.initializer_range = values.from_zero("initializer_range");
  config.qkv_bias = values.get<bool>("qkv_bias");
  read_image_sides(values, json, config);
  values.require_bidirectional();
  values.finish();
  return config;
}

void add_vit_layer(ParameterTableBuilder& builder, const VitConfig& config, int64_t index) {
  const std::string layer = "encoder.layer." + std::to_string(index) + '.';
  const int64_t width = config.hidden_size, inner = config.intermediate_size;
  const int64_t heads = config.num_attention_heads * config.head_dim, bias = config.qkv_bias ? heads : 0;
  builder.begin_block(index);
  for (const char* name : {"query", "key", "value"})
    builder.matrix(layer + "attention.attention." + name, heads, width, bias);
  builder.matrix(layer + "attention.output.dense", width, heads, width);
  builder.norm(layer + "layernorm_before", width, /*with_bias=*/true);
  builder.norm(layer + "layernorm_after", width, /*with_bias=*/true);
  builder.matrix(layer + "intermediate.dense", inner, width, inner);
  builder.matrix(layer + "output.dense", width, inner, width);
}

// What files call the modules, and what transformers calls them in memory since 5.0, so that a state_dict() has
// those.
constexpr std::pair<std::string_view, std::string_view> kNamesInMemory[] = {
    {".encoder.layer.", ".layers."},
    {".attention.attention.query.", ".attention.q_proj."},
    {".attention.attention.key.", ".attention.k_proj."},
    {".attention.attention.value.", ".attention.v_proj."},
    {".attention.output.dense.", ".attention.o_proj."},
    {".intermediate.dense.", ".mlp.fc1."},
    {".output.dense.", ".mlp.fc2."},
};

std::string vit_name_in_memory(std::string name) {
  for (const auto& [stored, in_memory] : kNamesInMemory) {
    const size_t at = name.find(stored);
    if (at != std::string::npos) name.replace(at, stored.size(), in_memory);
  }
  return name;
}

ParameterTable build_vit_table(const VitConfig& config, const FamilyConfig& given, const std::string& prefix,
                               int64_t outputs) {
  const int64_t width = config.hidden_size;
  ParameterTableBuilder builder(config.initializer_range, prefix, given.origin);
  builder.begin_unit("embeddings");
  builder.free_tensor("embeddings.cls_token", {1, 1, width});
  builder.free_tensor("embeddings.position_embeddings", {1, 1 + config.patches(), width});
  builder.kernel("embeddings.patch_embeddings.projection",
                 {width, config.num_channels, config.patch_height, config.patch_width}, width);
  for (int64_t layer = 0; layer < config.num_hidden_layers; ++layer) add_vit_layer(builder, config, layer);
  builder.begin_unit("head");
  builder.norm("layernorm", width, /*with_bias=*/true);
  append_head(builder, given.head, outputs, width, "");
  ParameterTable table = builder.finish({R"(pooler\.dense\.(weight|bias)$)", R"(embeddings\.mask_token$)"});
  for (ParameterSpec& parameter : table.parameters) {
    std::string other = vit_name_in_memory(parameter.name);
    if (other != parameter.name) parameter.other_names.push_back(std::move(other));
  }
  return table;
}

}  // namespace

VitArchitecture::VitArchitecture(FamilyConfig config)
    : FamilyArchitecture(std::move(config)), config_(read_vit_config(given().json, given().origin)) {
  set_table(build_vit_table(config_, given(), base_prefix(), outputs()));
}

std::optional<ImageShape> VitArchitecture::image() const {
  return ImageShape{config_.num_channels, config_.image_height, config_.image_width, 1 + config_.patches(),
                    "ViTImageProcessor"};
}

ActivationFootprint VitArchitecture::activations() const {
  const int64_t width = config_.hidden_size, heads = config_.num_attention_heads * config_.head_dim;
  ActivationFootprint block;
  // Both norms' inputs and outputs, q, k, v, the attention's output; the MLP before and after its activation.
  block.linear = 4 * width + 4 * heads + 2 * config_.intermediate_size;
  block.attended = heads;
  block.passing = width + config_.intermediate_size;
  if (config_.hidden_dropout_prob > 0) block.masks = 2 * width;
  if (config_.attention_probs_dropout_prob > 0)
    block.dropped = kOfDroppedWeight * config_.num_attention_heads;
  return block;
}

std::vector<BlockStack> VitArchitecture::stacks() const {
  if (config_.hidden_dropout_prob > 0 || config_.attention_probs_dropout_prob > 0)
    return Architecture::stacks();
  // What enters, its norm, k and v.
  return ending_at_first(*this, 2 * (config_.hidden_size + config_.num_attention_heads * config_.head_dim));
}

const ConfigSchema& vit_schema() {
  static constexpr ConfigSchema kSchema = {"vit", kVitHeads, "ViTLayer", kVitKeys, {}, {}, false};
  return kSchema;
}

std::shared_ptr<const Architecture> make_vit(FamilyConfig given) {
  Json& pooled = given.json["pooler_output_size"];
  if (pooled.is_null() || pooled == 0) pooled = given.json["hidden_size"];
  return std::make_shared<VitArchitecture>(std::move(given));
}

}  // namespace hftrain::architectures
