#include "hftrain/architectures/described_family.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "hftrain/architectures/config_values.h"
#include "hftrain/architectures/parameter_table_builder.h"
#include "hftrain/architectures/size_expression.h"
#include "hftrain/base/error.h"

namespace hftrain::architectures {
namespace {

// Owns the texts that the schema points to; never moved.
struct DescribedFamily {
  std::string source;
  Json json;
  std::deque<std::string> texts;
  std::vector<ConfigKey> keys;
  std::vector<HeadSpec> heads;
  ConfigSchema schema{};

  const char* keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
};

std::deque<DescribedFamily>& described() {
  static std::deque<DescribedFamily> families;
  return families;
}

Error no_description(const std::string& origin, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kUsage, "the plug-in describes no family that can be trained")
      .where(origin)
      .why(why)
      .hint(hint);
}

ConfigType type_of_default(const Json& value, const std::string& key, const std::string& origin) {
  if (value.is_boolean()) return ConfigType::kBoolean;
  if (value.is_number_integer() || value.is_null()) return ConfigType::kInteger;
  if (value.is_number_float()) return ConfigType::kFloat;
  if (value.is_string()) return ConfigType::kString;
  throw no_description(origin, "the default of the key " + key + " is " + value.type_name(),
                       "a truth value, a number, a text, or null for a token that there may be none of");
}

void read_keys(DescribedFamily& family, const std::string& origin) {
  for (const auto& [name, value] : family.json.at("config").items())
    family.keys.push_back({family.keep(name), type_of_default(value, name, origin), family.keep(value.dump()),
                           value.is_null()});
}

// Those that the decoders have: what other heads need of a body, a description cannot say.
void read_heads(DescribedFamily& family, const std::string& origin) {
  for (const auto& [word, row] : family.json.at("heads").items()) {
    const std::optional<Head> head = head_named(word);
    if (!head || *head == Head::kMaskedLm || *head == Head::kSeq2SeqLm || *head == Head::kImageClassification)
      throw no_description(origin, "'" + word + "' is no head of a decoder",
                           "causal_lm, sequence_classification, token_classification, question_answering");
    family.heads.push_back({*head, family.keep(row.at("class").get<std::string>()),
                            family.keep(family.json.at("body").get<std::string>()),
                            family.keep(row.at("matrix").get<std::string>()), row.value("bias", false)});
  }
}

void complete_schema(DescribedFamily& family) {
  family.schema = {.model_type = family.keep(family.json.at("model_type").get<std::string>()),
                   .heads = family.heads,
                   .layer_class = family.keep(family.json.at("layer_class").get<std::string>()),
                   .keys = family.keys,
                   .aliases = {},
                   .old_keys = {}};
}

const DescribedFamily& family_of(const ConfigSchema& schema) {
  for (const DescribedFamily& family : described()) {
    if (&family.schema == &schema) return family;
  }
  throw Error(ExitCode::kInternal, std::string("no description of ") + schema.model_type);
}

std::string of_layer(std::string name, int64_t layer) {
  const size_t at = name.find("{layer}");
  return at == std::string::npos ? name : name.replace(at, 7, std::to_string(layer));
}

class DescribedArchitecture final : public FamilyArchitecture {
 public:
  explicit DescribedArchitecture(FamilyConfig config)
      : FamilyArchitecture(std::move(config)), description_(family_of(given().schema).json) {
    ConfigValues values(given().json, given().origin);
    values.positive("vocab_size");
    values.positive("hidden_size");
    values.positive("num_hidden_layers", ConfigValues::kMostLayers);
    values.positive("max_position_embeddings");
    values.from_zero("initializer_range");
    values.finish();
    set_table(table());
  }

  int64_t vocab_size() const override { return given().json.at("vocab_size").get<int64_t>(); }
  int64_t max_positions() const override { return given().json.at("max_position_embeddings").get<int64_t>(); }
  bool learned_positions() const override { return description_.value("learned_positions", false); }
  int64_t hidden_size() const override { return given().json.at("hidden_size").get<int64_t>(); }
  int64_t layers() const override { return given().json.at("num_hidden_layers").get<int64_t>(); }
  ActivationFootprint activations() const override {
    ActivationFootprint block;
    block.linear = size(description_.at("activations"));
    block.square = size(description_.value("square_activations", Json("0")));
    return block;
  }

 private:
  int64_t size(const Json& expression) const {
    return size_of_expression(expression.get<std::string>(), given().json, given().origin);
  }

  int64_t positive(const Json& expression) const {
    const int64_t value = size(expression);
    if (value > 0) return value;
    throw Error(ExitCode::kData, "a parameter of " + model_type() + " would have no numbers")
        .where(given().origin)
        .why("its size " + expression.get<std::string>() + " is 0")
        .hint("1 or more for each key that it names");
  }

  void add(ParameterTableBuilder& builder, const Json& row, int64_t layer) const {
    std::vector<int64_t> shape;
    for (const Json& expression : row.at("shape")) shape.push_back(positive(expression));
    const std::string kind = row.at("kind").get<std::string>();
    const std::string name = of_layer(row.at("name").get<std::string>(), layer);
    const bool bias = row.value("bias", false);
    if (kind == "embedding") return builder.embedding(name, shape.at(0), shape.at(1));
    if (kind == "matrix") return builder.kernel(name, shape, bias ? shape.at(0) : 0);
    if (kind == "norm") return builder.norm(name, shape.at(0), bias);
    if (kind == "tensor") return builder.free_tensor(name, shape);
    throw no_description(given().origin, "'" + kind + "' is no kind of parameter",
                         "embedding, matrix, norm, tensor");
  }

  ParameterTable table() const {
    ParameterTableBuilder builder(given().json.at("initializer_range").get<double>(), base_prefix(),
                                  given().origin);
    builder.begin_unit("embeddings");
    for (const Json& row : description_.at("embeddings")) add(builder, row, 0);
    for (int64_t layer = 0; layer < layers(); ++layer) {
      builder.begin_block(layer);
      for (const Json& row : description_.at("block")) add(builder, row, layer);
    }
    builder.begin_unit("head");
    for (const Json& row : description_.at("last")) add(builder, row, 0);
    const bool tied = head() == Head::kCausalLm && given().json.value("tie_word_embeddings", false);
    append_head(builder, given().head, outputs(), hidden_size(),
                tied ? description_.at("tied").get<std::string>() : "");
    return builder.finish({});
  }

  const Json& description_;
};

void read(DescribedFamily& family, const std::string& origin) {
  family.json = parse_json(family.source, origin);
  const std::string model_type = family.json.at("model_type").get<std::string>();
  const std::vector<std::string> known = Architecture::model_types();
  if (std::find(known.begin(), known.end(), model_type) != known.end())
    throw no_description(origin, "a family is called '" + model_type + "' already",
                         "a model_type of its own");
  read_keys(family, origin);
  read_heads(family, origin);
  complete_schema(family);
}

// With its defaults: a mistake of the description is one of --plugin, and not found in the middle of a plan.
void try_out(const DescribedFamily& family, const std::string& origin) {
  for (const HeadSpec& head : family.heads) {
    Json config = {{"model_type", family.schema.model_type}};
    for (const bool tied : {false, true}) {
      if (family.schema.find("tie_word_embeddings") != nullptr) config["tie_word_embeddings"] = tied;
      const auto made = Architecture::from_config(config, origin, head.head);
      made->activations();
      const ParameterTable& table = made->parameters();
      for (const TiedParameter& tie : table.tied) {
        if (std::ranges::none_of(table.parameters,
                                 [&](const auto& spec) { return spec.name == tie.parameter; }))
          throw no_description(origin, "'tied' names no parameter of the body: " + tie.parameter,
                               "the whole name of the embedding behind the body's prefix");
      }
    }
  }
}

}  // namespace

void add_described_family(const std::string& description, const std::string& origin) {
  for (const DescribedFamily& family : described()) {
    if (family.source == description) return;
  }
  DescribedFamily& family = described().emplace_back();
  try {
    family.source = description;
    read(family, origin);
    try_out(family, origin);
  } catch (const Error&) {
    described().pop_back();
    throw;
  } catch (const std::exception& error) {
    described().pop_back();
    throw no_description(origin, error.what(), "what docs/plugins.md says of models");
  }
}

std::vector<const ConfigSchema*> described_schemas() {
  std::vector<const ConfigSchema*> schemas;
  for (const DescribedFamily& family : described()) {
    if (family.schema.model_type != nullptr) schemas.push_back(&family.schema);
  }
  return schemas;
}

std::shared_ptr<const Architecture> make_described(FamilyConfig given) {
  if (given.adapter)
    throw Error(ExitCode::kUsage, std::string(given.schema.model_type) + " takes no adapters")
        .where("--use_peft")
        .why("it is a plug-in's family, whose matrices only the plug-in multiplies with")
        .hint("train all of it, or a family of hftrain");
  return std::make_shared<DescribedArchitecture>(std::move(given));
}

}  // namespace hftrain::architectures
