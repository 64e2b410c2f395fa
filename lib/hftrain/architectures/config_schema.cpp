#include "hftrain/architectures/config_schema.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"

namespace hftrain::architectures {
namespace {

const char* type_name(ConfigType type) {
  switch (type) {
    case ConfigType::kBoolean:
      return "true or false";
    case ConfigType::kInteger:
      return "a whole number";
    case ConfigType::kFloat:
      return "a number";
    case ConfigType::kString:
      return "a text";
    case ConfigType::kTokenIds:
      return "a token id or a list of them";
    case ConfigType::kSizes:
      return "a whole number or a list of them";
    case ConfigType::kStructure:
      return "a list or an object";
  }
  return "";
}

bool is_list_of_integers(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_number_integer(); });
}

bool is_whole(const Json& value) {
  const bool fits = !value.is_number_unsigned() ||
                    value.get_ref<const Json::number_unsigned_t&>() <= std::numeric_limits<int64_t>::max();
  return value.is_number_integer() && fits;
}

bool has_type(const ConfigKey& key, const Json& value) {
  if (value.is_null()) return key.nullable;
  switch (key.type) {
    case ConfigType::kBoolean:
      return value.is_boolean();
    case ConfigType::kInteger:
      return is_whole(value);
    case ConfigType::kFloat:
      return value.is_number();
    case ConfigType::kString:
      return value.is_string();
    case ConfigType::kTokenIds:
    case ConfigType::kSizes:
      return value.is_number_integer() || is_list_of_integers(value);
    case ConfigType::kStructure:
      return value.is_structured();
  }
  return false;
}

// The whole of `text` as a number; false when anything is left over.
template <typename Number>
bool parse_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && !text.empty();
}

std::optional<Json> parse_boolean(const std::string& text) {
  const std::string word = to_lower(text);
  for (const char* yes : {"true", "1", "y", "yes", "on"}) {
    if (word == yes) return Json(true);
  }
  for (const char* no : {"false", "0", "n", "no", "off"}) {
    if (word == no) return Json(false);
  }
  return std::nullopt;
}

std::optional<Json> parse_value(const ConfigKey& key, const std::string& text) {
  if (key.nullable && (text == "null" || text == "None" || text == "none")) return Json(nullptr);
  int64_t integer = 0;
  double number = 0;
  switch (key.type) {
    case ConfigType::kBoolean:
      return parse_boolean(text);
    case ConfigType::kTokenIds:
    case ConfigType::kSizes:
    case ConfigType::kInteger:
      return parse_number(text, integer) ? std::optional<Json>(integer) : std::nullopt;
    case ConfigType::kFloat:
      return parse_number(text, number) ? std::optional<Json>(number) : std::nullopt;
    case ConfigType::kString:
      return Json(text);
    case ConfigType::kStructure:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> overridable_names(const ConfigSchema& schema) {
  std::vector<std::string> names;
  for (const ConfigKey& key : schema.keys) {
    if (key.type != ConfigType::kStructure) names.emplace_back(key.name);
  }
  for (const ConfigKey& key : schema.old_keys) names.emplace_back(key.name);
  for (const ConfigAlias& alias : schema.aliases) names.emplace_back(alias.alias);
  return names;
}

Diagnostic unknown_key(const ConfigSchema& schema, const std::string& name) {
  const std::vector<std::string> names = overridable_names(schema);
  Diagnostic diagnostic;
  diagnostic.what = "the " + std::string(schema.model_type) + " config has no key '" + name + "'";
  diagnostic.where = "--config_overrides";
  diagnostic.why = "the keys are " + join(names, ", ");
  diagnostic.hint = did_you_mean(nearest_names(name, names));
  if (diagnostic.hint.empty()) diagnostic.hint = "leave it out";
  return diagnostic;
}

Diagnostic bad_value(const ConfigKey& key, const std::string& assignment) {
  Diagnostic diagnostic;
  diagnostic.what = "'" + assignment + "' is not " + type_name(key.type);
  diagnostic.where = "--config_overrides";
  diagnostic.why =
      std::string(key.name) + " is " + type_name(key.type) + "; its default is " + key.default_text;
  diagnostic.hint = key.type == ConfigType::kStructure
                        ? "write it into a config.json and name that with --config_name"
                        : "correct the value, or leave it out";
  return diagnostic;
}

}  // namespace

const ConfigKey* ConfigSchema::find(const std::string& name_or_alias) const {
  std::string name = name_or_alias;
  for (const ConfigAlias& alias : aliases) {
    if (name == alias.alias) name = alias.name;
  }
  for (const std::span<const ConfigKey> table : {keys, old_keys}) {
    for (const ConfigKey& key : table) {
      if (name == key.name) return &key;
    }
  }
  return nullptr;
}

const HeadSpec* ConfigSchema::find(Head head) const {
  for (const HeadSpec& spec : heads) {
    if (spec.head == head) return &spec;
  }
  return nullptr;
}

namespace {

void make_before(const ConfigSchema& schema, const ConfigAlias& alias, const Json& config, Json& complete) {
  const std::string key = alias.made_before;
  if (key.empty() || !config.value(key, Json()).is_null()) return;
  complete[key] = config.value(alias.name, Json::parse(schema.find(alias.name)->default_text));
}

}  // namespace

Json complete_config(const ConfigSchema& schema, const Json& config, const std::string& origin) {
  Json complete = config;
  for (const ConfigAlias& alias : schema.aliases) {
    if (!config.contains(alias.alias)) continue;
    complete.erase(alias.alias);
    make_before(schema, alias, config, complete);
    // Where both are there the alias counts, as in transformers, which sets it behind the other.
    if (!config.contains(alias.name) || !config[alias.alias].is_null())
      complete[alias.name] = config[alias.alias];
  }
  std::vector<Diagnostic> mistakes;
  for (const ConfigKey& key : schema.keys) {
    if (!complete.contains(key.name)) {
      complete[key.name] = Json::parse(key.default_text);
    } else if (!has_type(key, complete[key.name])) {
      Diagnostic diagnostic;
      diagnostic.what = std::string(key.name) + " must be " + type_name(key.type);
      diagnostic.where = origin;
      diagnostic.why = "it is " + dump_json(complete[key.name], -1);
      diagnostic.hint = std::string("correct the value, or leave it out: its default is ") + key.default_text;
      mistakes.push_back(std::move(diagnostic));
    }
  }
  if (!mistakes.empty()) throw Error(ExitCode::kData, std::move(mistakes));
  return complete;
}

Json parse_overrides(const ConfigSchema& schema, const std::string& overrides) {
  Json values = Json::object();
  if (trim(overrides).empty()) return values;
  std::vector<Diagnostic> mistakes;
  for (const std::string& part : split(overrides, ',')) {
    const std::string assignment = trim(part);
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      Diagnostic diagnostic;
      diagnostic.what = "'" + assignment + "' is not of the form key=value";
      diagnostic.where = "--config_overrides";
      diagnostic.why = "it is a list of keys of the config with their values";
      diagnostic.hint = "write --config_overrides key=value,key=value";
      mistakes.push_back(std::move(diagnostic));
      continue;
    }
    const std::string name = trim(assignment.substr(0, equals));
    const ConfigKey* key = schema.find(name);
    if (key == nullptr) {
      mistakes.push_back(unknown_key(schema, name));
      continue;
    }
    const std::optional<Json> value = parse_value(*key, trim(assignment.substr(equals + 1)));
    if (value) {
      values[key->name] = *value;
    } else {
      mistakes.push_back(bad_value(*key, assignment));
    }
  }
  if (!mistakes.empty()) throw Error(ExitCode::kUsage, std::move(mistakes));
  return values;
}

}  // namespace hftrain::architectures
