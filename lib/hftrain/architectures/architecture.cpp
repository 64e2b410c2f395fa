#include "hftrain/architectures/architecture.h"

#include <array>

#include "hftrain/architectures/described_family.h"
#include "hftrain/architectures/families.h"
#include "hftrain/architectures/rope_config.h"
#include "hftrain/architectures/tagged_numbers.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json_member.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

// The release whose config.json layout config_json() follows.
constexpr const char* kTransformersVersion = "5.17.0";

struct Family {
  const ConfigSchema& (*schema)();
  FamilyMaker make;
};

constexpr std::array kFamilies = std::to_array<Family>({
    {gpt2_schema, make_gpt2},
    {llama_schema, make_llama},
    {qwen2_schema, make_llama},
    {qwen3_schema, make_llama},
    {mistral_schema, make_llama},
    {gemma_schema, make_llama},
    {bert_schema, make_bert},
    {roberta_schema, make_bert},
    {distilbert_schema, make_distilbert},
    {vit_schema, make_vit},
    {t5_schema, make_t5},
    {bart_schema, make_bart},
});

// Of the program and of plug-ins.
std::vector<const ConfigSchema*> schemas() {
  std::vector<const ConfigSchema*> all;
  for (const Family& family : kFamilies) all.push_back(&family.schema());
  for (const ConfigSchema* schema : described_schemas()) all.push_back(schema);
  return all;
}

const ConfigSchema* find_schema(const std::string& model_type) {
  for (const ConfigSchema* schema : schemas()) {
    if (model_type == schema->model_type) return schema;
  }
  return nullptr;
}

FamilyMaker maker_of(const ConfigSchema& schema) {
  for (const Family& family : kFamilies) {
    if (&family.schema() == &schema) return family.make;
  }
  return make_described;
}

Error unknown_family(ExitCode code, const std::string& model_type) {
  const std::vector<std::string> names = Architecture::model_types();
  const std::string nearest = did_you_mean(nearest_names(to_lower(model_type), names));
  return Error(code, "model family '" + model_type + "' is not implemented")
      .why("the implemented families are " + join(names, ", "))
      .hint(nearest.empty()
                ? "a model of one of them, or --plugin with a library that adds the family to a run"
                : nearest);
}

// Keys of every family, and what transformers 5.17 drops or renames when it writes a config.
void normalise_common(const ConfigSchema& schema, const HeadSpec& head, Json& config) {
  if (!config.contains("dtype") || config["dtype"].is_null()) {
    config["dtype"] = config.value("torch_dtype", Json(nullptr));
    if (config["dtype"].is_null()) config["dtype"] = "float32";
  }
  config.erase("torch_dtype");
  config.erase("_name_or_path");
  config["model_type"] = schema.model_type;
  config["architectures"] = Json::array({head.class_name});
  config["transformers_version"] = kTransformersVersion;
}

// A key of any family that makes another model of a folder in transformers 5.17.
struct OtherModel {
  const char *key, *what, *hint;
  Json of_this = false;  // a value that asks for nothing
};
const OtherModel kOtherModels[] = {
    {"quantization_config", "quantised weights are not implemented",
     "a folder with the weights before they were quantised, or after they were dequantised; where they are "
     "floats "
     "already, take the key out of the config"},
    {"per_layer_config", "blocks that differ from one another are not implemented",
     "change the config, or choose another model"},
    {"transformers_weights", "weights of another name than model.safetensors are not read",
     "call the file model.safetensors, and take the key out of the config", "model.safetensors"},
};

void refuse_other_models(const Json& config, const std::string& origin) {
  for (const OtherModel& other : kOtherModels) {
    const Json value = config.value(other.key, Json());
    if (value.empty() || value == other.of_this) continue;
    throw Error(ExitCode::kData, other.what)
        .where(origin)
        .why(std::string("the config has the key ") + other.key)
        .hint(other.hint);
  }
}

const HeadSpec& head_in(const ConfigSchema& schema, Head wanted, const std::string& origin) {
  if (const HeadSpec* head = schema.find(wanted)) return *head;
  std::vector<std::string> words, others;
  for (const HeadSpec& head : schema.heads) words.emplace_back(head_word(head.head));
  for (const ConfigSchema* family : schemas()) {
    if (family->find(wanted) != nullptr) others.emplace_back(family->model_type);
  }
  throw Error(ExitCode::kData,
              std::string(schema.model_type) + " has no " + std::string(head_word(wanted)) + " head")
      .where(origin)
      .why("the heads of this family are " + join(words, ", "))
      .hint("another --task, or a model of a family that has one: " + join(others, ", "));
}

std::shared_ptr<const Architecture> build(const ConfigSchema& schema, const Json& config,
                                          const std::string& origin, Head wanted,
                                          const std::optional<AdapterSpec>& adapter) {
  const HeadSpec& head = head_in(schema, wanted, origin);
  refuse_other_models(config, origin);
  Json complete = complete_config(schema, config, origin);
  normalise_common(schema, head, complete);
  if (schema.has_rope) normalise_rope(complete);
  Labels labels;
  if (wanted != Head::kQuestionAnswering || !schema.fixed_answers)
    labels = normalise_labels(wanted, schema.default_labels, complete, origin);
  return maker_of(schema)({schema, head, labels, std::move(complete), origin, adapter});
}

}  // namespace

std::vector<BlockStack> ending_at_first(const Architecture& architecture, int64_t numbers) {
  const BlockStack all{architecture.layers(), architecture.activations(), false};
  if (architecture.layers() < 2 || (architecture.adapter() && architecture.adapter()->dropout > 0))
    return {all};
  ActivationFootprint last;
  last.linear = numbers;
  return {{all.layers - 1, all.block, false}, {1, last, false, true}};
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = {
      "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "relu", "silu", "swish", "tanh"};
  return names;
}

std::vector<std::string> Architecture::model_types() {
  std::vector<std::string> names;
  for (const ConfigSchema* schema : schemas()) names.emplace_back(schema->model_type);
  return names;
}

std::optional<Head> Architecture::head_of(const Json& config) {
  const Json classes = json_member(config, "architectures");
  if (!classes.is_array() || classes.empty()) return std::nullopt;
  for (const ConfigSchema* family : schemas()) {
    for (const HeadSpec& head : family->heads) {
      if (classes.front() == head.class_name) return head.head;
    }
  }
  return std::nullopt;
}

bool Architecture::has_head(const std::string& model_type, Head head) {
  const ConfigSchema* schema = find_schema(model_type);
  return schema != nullptr && schema->find(head) != nullptr;
}

std::shared_ptr<const Architecture> Architecture::from_config(const Json& config, const std::string& origin,
                                                              Head head,
                                                              const std::optional<AdapterSpec>& adapter) {
  if (!config.is_object()) {
    throw Error(ExitCode::kData, "a model config must be a JSON object")
        .where(origin)
        .why("it is " + std::string(config.type_name()))
        .hint("the config.json of a model");
  }
  if (!config.contains("model_type") || !config["model_type"].is_string()) {
    throw Error(ExitCode::kData, "the model config has no model_type")
        .where(origin)
        .why("it says which family the model is of")
        .hint("add \"model_type\": one of " + join(model_types(), ", "));
  }
  const std::string model_type = config["model_type"];
  const ConfigSchema* family = find_schema(model_type);
  if (family == nullptr) throw unknown_family(ExitCode::kData, model_type).where(origin);
  return build(*family, without_tagged_numbers(config), origin, head, adapter);
}

std::shared_ptr<const Architecture> Architecture::from_scratch(const std::string& model_type,
                                                               const std::string& overrides, Head head) {
  const ConfigSchema* family = find_schema(model_type);
  if (family == nullptr) throw unknown_family(ExitCode::kUsage, model_type).where("--model_type");
  const Json config = parse_overrides(*family, overrides);
  try {
    return build(*family, config, "--model_type " + model_type + " with --config_overrides", head,
                 std::nullopt);
  } catch (const Error& error) {
    throw Error(ExitCode::kUsage, error.diagnostics());
  }
}

}  // namespace hftrain::architectures
