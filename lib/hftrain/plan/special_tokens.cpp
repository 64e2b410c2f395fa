#include "hftrain/plan/special_tokens.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain::plan {
namespace {

constexpr const char* kBos = "bos_token_id";
constexpr const char* kEos = "eos_token_id";
constexpr const char* kPad = "pad_token_id";
constexpr const char* kForcedBos = "forced_bos_token_id";

using NamedId = std::pair<const char*, std::optional<int64_t>>;

std::array<NamedId, 3> ids_of(const SpecialTokens& tokens) {
  return {{{kEos, tokens.eos}, {kBos, tokens.bos}, {kPad, tokens.pad}}};
}

// Null for a missing key.
Json id_in(const Json& config, const char* key) {
  return config.contains(key) ? config[key] : Json();
}

Json read_generation_config(const ModelFacts& model) {
  constexpr const char* kHint = "mend or remove the file; without it one is made from config.json";
  const std::string& origin = model.generation_config_origin;
  Json config;
  try {
    config = parse_json(model.generation_config, origin);
  } catch (Error& error) {
    throw error.hint(kHint);
  }
  if (config.is_object()) return config;
  throw Error(ExitCode::kData, "the generation config is not an object")
      .where(origin)
      .why("it is " + std::string(config.type_name()))
      .hint(kHint);
}

// The file's end tokens may be several, and generation stops at each.
bool has_end_token(const Json& generation, const std::optional<int64_t>& id) {
  const Json present = id_in(generation, kEos);
  if (!id) return true;  // then the file's stay
  if (!present.is_array()) return present == *id;
  return std::find(present.begin(), present.end(), Json(*id)) != present.end();
}

bool agrees(const Json& generation, const NamedId& id) {
  return id.first == kEos ? has_end_token(generation, id.second)
                          : id_in(generation, id.first) == Json(id.second);
}

void add_end_token(int64_t id, Json& generation) {
  Json all = {id};
  const Json present = id_in(generation, kEos);
  for (const Json& end : present.is_array() ? present : Json::array({present})) {
    if (!end.is_null() && std::find(all.begin(), all.end(), end) == all.end()) all.push_back(end);
  }
  generation[kEos] = std::move(all);
}

void align(const NamedId& id, Json& generation) {
  if (id.first == kEos) {
    add_end_token(id.second.value(), generation);
  } else if (id.second) {
    generation[id.first] = *id.second;
  } else {
    generation.erase(id.first);
  }
}

// As GenerationConfig.from_model_config makes it.
Json generation_config_of(const Json& config) {
  Json generation = {{"_from_model_config", true},
                     {"output_attentions", false},
                     {"output_hidden_states", false},
                     {"use_cache", true}};
  for (const char* key :
       {kBos, kEos, kPad, "decoder_start_token_id", "forced_eos_token_id", "transformers_version"}) {
    if (config.contains(key) && !config[key].is_null()) generation[key] = config[key];
  }
  return generation;
}

std::string id_text(const Json& id) {
  return id.is_null() ? "none" : id.dump();
}

}  // namespace

void align_config(const ModelFacts& model, Json& config) {
  if (!model.special_tokens) return;
  for (const auto& [key, id] : ids_of(*model.special_tokens)) config[key] = id;
}

std::string generation_config_text(const ModelFacts& model, const Json& config) {
  if (model.generation_config.empty()) {
    Json made = generation_config_of(config);
    if (model.forced_bos) made[kForcedBos] = *model.forced_bos;
    return dump_json(made) + '\n';
  }
  Json generation = read_generation_config(model);
  bool changed = model.forced_bos && id_in(generation, kForcedBos) != Json(*model.forced_bos);
  if (changed) generation[kForcedBos] = *model.forced_bos;
  if (model.special_tokens) {
    for (const NamedId& id : ids_of(*model.special_tokens)) {
      if (agrees(generation, id)) continue;
      align(id, generation);
      changed = true;
    }
  }
  return changed ? dump_json(generation) + '\n' : model.generation_config;
}

void replace_end_tokens(int64_t id, ModelFacts& model) {
  if (model.generation_config.empty()) return;
  Json generation = read_generation_config(model);
  if (id_in(generation, kEos) == Json(id)) return;
  generation[kEos] = id;
  model.generation_config = dump_json(generation) + '\n';
}

std::vector<std::string> changed_special_tokens(const ModelFacts& model) {
  std::vector<std::string> changes;
  if (!model.special_tokens) return changes;
  const Json config = model.architecture->config_json();
  const bool has_file = !model.generation_config.empty();
  const Json generation = has_file ? read_generation_config(model) : Json();
  for (const NamedId& id : ids_of(*model.special_tokens)) {
    const Json present = id_in(config, id.first), own(id.second);
    const bool same_there = !has_file || agrees(generation, id);
    if (present == own && same_there) continue;
    const Json before = present == own ? id_in(generation, id.first) : present;
    changes.push_back(std::string(id.first) + ' ' + id_text(before) + " -> " + id_text(own));
  }
  return changes;
}

}  // namespace hftrain::plan
