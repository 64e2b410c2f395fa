#include "hftrain/architectures/rope_config.h"

#include <cmath>

#include "hftrain/architectures/config_values.h"
#include "hftrain/base/error.h"

namespace hftrain::architectures {
namespace {

constexpr double kDefaultTheta = 10000.0;

constexpr const char* kTurnsBy = "positions are turned into angles by it";

Error refused(const std::string& origin, const std::string& what, const std::string& why) {
  return Error(ExitCode::kData, what)
      .where(origin + ", key rope_parameters")
      .why(why)
      .hint("correct config.json as the model's own has it, or take a model without it");
}

double number(const Json& rope, const char* key, const std::string& origin) {
  if (!rope.contains(key) || !rope[key].is_number()) {
    throw refused(origin, std::string("RoPE type ") + rope["rope_type"].dump() + " needs the number " + key,
                  kTurnsBy);
  }
  const double value = rope[key].get<double>();
  if (!std::isfinite(value)) throw refused(origin, std::string(key) + " must be finite", kTurnsBy);
  return value;
}

// A length in positions is divided by it.
double divisor(const Json& rope, const char* key, const std::string& origin) {
  const double value = number(rope, key, origin);
  if (!(value > 0)) throw refused(origin, std::string(key) + " must be above 0", "a length is divided by it");
  return value;
}

// A number that may be left out, null or 0, which all mean `otherwise`.
double number_or(const Json& rope, const char* key, double otherwise, const std::string& origin) {
  if (!rope.contains(key) || rope[key].is_null() || rope[key] == false) return otherwise;
  const double value = number(rope, key, origin);
  return value == 0 ? otherwise : value;
}

int64_t positions(const Json& rope, const char* key, const std::string& origin) {
  const double value = number(rope, key, origin);
  if (value >= 1 && value <= static_cast<double>(ConfigValues::kLargestSize))
    return static_cast<int64_t>(value);
  throw refused(origin, std::string(key) + " must be at least 1 and no more than a size can be", kTurnsBy);
}

// The temperature of attention that YaRN proposes for a factor.
double magnitude(double factor, double scale) {
  return factor <= 1 ? 1.0 : 0.1 * scale * std::log(factor) + 1.0;
}

void read_yarn(const Json& config, const Json& rope, const std::string& origin, RopeConfig& typed) {
  typed.scaling = RopeScaling::kYarn;
  typed.original_max_position = positions(rope, "original_max_position_embeddings", origin);
  // DeepSeek's: how much longer the model's own positions are.
  const bool longer = rope.contains("factor") && rope["factor"].is_null();
  typed.factor = longer ? number(config, "max_position_embeddings", origin) /
                              static_cast<double>(typed.original_max_position)
                        : number(rope, "factor", origin);
  typed.beta_fast = number_or(rope, "beta_fast", 32, origin);
  typed.beta_slow = number_or(rope, "beta_slow", 1, origin);
  for (const double beta : {typed.beta_fast, typed.beta_slow}) {
    if (!(beta > 0))
      throw refused(origin, "beta_fast and beta_slow must be above 0", "their logarithms are taken");
  }
  if (typed.theta == 1) throw refused(origin, "rope_theta must not be 1", "its logarithm is divided by");
  if (rope.contains("truncate")) typed.truncate = rope["truncate"] == true;
  const double scale = number_or(rope, "mscale", 0, origin),
               of_all = number_or(rope, "mscale_all_dim", 0, origin);
  typed.attention_factor = scale != 0 && of_all != 0
                               ? magnitude(typed.factor, scale) / magnitude(typed.factor, of_all)
                               : magnitude(typed.factor, 1);
  if (rope.contains("attention_factor") && !rope["attention_factor"].is_null())
    typed.attention_factor = number(rope, "attention_factor", origin);
}

}  // namespace

void normalise_rope(Json& config) {
  Json rope = Json::object();
  const auto is_set = [&](const char* key) { return config.contains(key) && !config[key].is_null(); };
  if (is_set("rope_parameters")) rope = config["rope_parameters"];
  if (is_set("rope_scaling") && !config["rope_scaling"].empty()) rope = config["rope_scaling"];
  if (!rope.is_object()) {
    config["rope_parameters"] = rope;  // read_rope refuses it with the place
    return;
  }
  if (!rope.contains("rope_theta")) {
    rope["rope_theta"] = is_set("rope_theta") ? config["rope_theta"] : Json(kDefaultTheta);
  }
  if (!rope.contains("rope_type")) rope["rope_type"] = rope.value("type", Json("default"));
  rope.erase("type");
  // The model's own key comes before the one among these, as in transformers.
  if (rope["rope_type"] == "llama3" || rope["rope_type"] == "yarn") {
    constexpr const char* kOriginal = "original_max_position_embeddings";
    if (is_set(kOriginal)) rope[kOriginal] = config[kOriginal];
    if (!rope.contains(kOriginal)) rope[kOriginal] = config.value("max_position_embeddings", Json(2048));
  }
  config["rope_parameters"] = rope;
  config.erase("rope_theta");
  config.erase("rope_scaling");
}

RopeConfig read_rope(const Json& config, const std::string& origin) {
  const Json& rope = config["rope_parameters"];
  if (!rope.is_object())
    throw refused(origin, "the RoPE settings must be an object", std::string("they are ") + rope.type_name());
  for (const auto& [key, value] : rope.items()) {
    if (value.is_object())
      throw refused(origin, "RoPE settings of one kind of layers are not implemented", key + " has its own");
  }
  RopeConfig typed;
  typed.theta = number(rope, "rope_theta", origin);
  if (!(typed.theta > 0)) throw refused(origin, "rope_theta must be above 0", kTurnsBy);
  Json partial = rope.value("partial_rotary_factor", Json());
  if (partial.is_null()) partial = config.value("partial_rotary_factor", Json());
  if (!partial.is_null() && partial != 1.0)
    throw refused(origin, "partial rotary embeddings are not implemented",
                  "partial_rotary_factor is " + partial.dump());
  const Json& type = rope["rope_type"];
  if (type == "default") return typed;
  if (type == "linear") {
    typed.scaling = RopeScaling::kLinear;
    typed.factor = number(rope, "factor", origin);
  } else if (type == "dynamic") {
    typed.bounded = true;
    number(rope, "factor", origin);
  } else if (type == "yarn") {
    read_yarn(config, rope, origin, typed);
  } else if (type == "llama3") {
    typed.scaling = RopeScaling::kBanded;
    typed.factor = number(rope, "factor", origin);
    // Where the second is no larger, no angle lies between the two, as in transformers.
    typed.low_freq_factor = divisor(rope, "low_freq_factor", origin);
    typed.high_freq_factor = divisor(rope, "high_freq_factor", origin);
    typed.original_max_position = positions(rope, "original_max_position_embeddings", origin);
  } else {
    throw refused(origin, "RoPE type " + type.dump() + " is not implemented",
                  "the implemented types are default, linear, dynamic, yarn and llama3");
  }
  if (!(typed.factor > 0)) throw refused(origin, "the RoPE factor must be above 0", kTurnsBy);
  return typed;
}

void add_v4_rope(Json& config) {
  Json scaling = config["rope_parameters"];
  config["rope_theta"] = scaling["rope_theta"];
  scaling.erase("rope_theta");
  config["rope_scaling"] = scaling["rope_type"] == "default" ? Json(nullptr) : scaling;
}

}  // namespace hftrain::architectures
