#include "hftrain/architectures/adapter_config.h"

#include <algorithm>
#include <array>
#include <set>

#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"

namespace hftrain::architectures {
namespace {

// The release whose keys these are.
constexpr const char* kPeftVersion = "0.21.2";

// As peft finds it.
std::string module_in_memory(const ParameterSpec& spec) {
  const std::string& name = name_in_memory(spec);
  return name.substr(0, name.rfind('.'));
}

const ParameterSpec& adapted(const ParameterTable& table, const ParameterSpec& half) {
  return table.parameters[static_cast<size_t>(half.adapts->parameter)];
}

// The shortest list of endings that names the adapted modules and no other: the last part of a name, or where a module
// of the same ending has no adapter, whole names.
Json target_modules(const ParameterTable& table) {
  std::set<std::string> beside, others;
  for (const ParameterSpec& spec : table.parameters) {
    if (spec.adapts) beside.insert(module_in_memory(adapted(table, spec)));
  }
  for (const ParameterSpec& spec : table.parameters) {
    const std::string module = module_in_memory(spec);
    if (!spec.adapts && beside.count(module) == 0) others.insert(module.substr(module.rfind('.') + 1));
  }
  std::set<std::string> names;
  for (const std::string& module : beside) {
    const std::string last = module.substr(module.rfind('.') + 1);
    names.insert(others.count(last) > 0 ? module : last);
  }
  return names;
}

// As the modules of a model have them, which know a tied matrix under all its names.
std::vector<std::string> parameters_in_memory(const ParameterTable& table) {
  std::vector<std::string> names;
  for (const ParameterSpec& parameter : table.parameters) {
    if (!parameter.adapts) names.push_back(name_in_memory(parameter));
  }
  for (const TiedParameter& second : second_names(table)) names.push_back(second.alias);
  return names;
}

// Every module in memory that one of the names is an ending of, as peft finds them.
std::set<std::string> modules_named(const ParameterTable& table, const std::vector<std::string>& names) {
  std::set<std::string> modules;
  for (const std::string& name : parameters_in_memory(table)) {
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
      const std::string module = name.substr(0, dot);
      if (std::ranges::any_of(names, [&](const std::string& each) { return module.ends_with(each); }))
        modules.insert(module);
    }
  }
  return modules;
}

// peft opens no module that is saved whole within another one: then the outer ones are named, and in full.
std::vector<std::string> none_within_another(const ParameterTable& table,
                                             const std::vector<std::string>& names) {
  const std::set<std::string> modules = modules_named(table, names);
  std::vector<std::string> outer;
  for (const std::string& module : modules) {
    const bool within = std::ranges::any_of(
        modules, [&](const std::string& other) { return module.starts_with(other + '.'); });
    if (!within) outer.push_back(module);
  }
  return outer.size() == modules.size() ? names : outer;
}

// Modules that are saved whole, as peft finds them: an ending that is given, or of one that names in files alone have, whole names.
std::vector<std::string> saved_in_memory(const ParameterTable& table, const AdapterSpec& spec) {
  std::vector<std::string> names;
  for (const std::string& target : spec.saved_modules) {
    std::set<std::string> modules;
    bool known = false;
    for (const ParameterSpec& parameter : table.parameters) {
      known = known || lies_within(name_in_memory(parameter), target);
      if (!parameter.adapts && lies_within(parameter.name, target))
        modules.insert(module_in_memory(parameter));
    }
    if (known || modules.empty()) modules = {target};
    names.insert(names.end(), modules.begin(), modules.end());
  }
  const std::vector<std::string> second = second_modules_of_saved(table, spec);
  names.insert(names.end(), second.begin(), second.end());
  return none_within_another(table, names);
}

bool stores_input_first(const ParameterTable& table) {
  return std::any_of(table.parameters.begin(), table.parameters.end(), [&](const ParameterSpec& spec) {
    return spec.adapts && adapted(table, spec).input_first;
  });
}

Error unusable(const std::string& origin, const std::string& what, const std::string& why,
               const std::string& hint) {
  return Error(ExitCode::kData, what).where(origin).why(why).hint(hint);
}

template <typename T>
T value_of(const Json& config, const char* key, const T& otherwise, const std::string& origin) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return otherwise;
  try {
    return found->get<T>();
  } catch (const Json::exception&) {
    throw unusable(origin, std::string(key) + " of the adapter is " + found->dump(),
                   "peft writes a value of another type there", "the file that peft wrote");
  }
}

// Keys that change what an adapter computes, where they are not off.
constexpr std::array kOff = {"use_dora",
                             "use_qalora",
                             "use_bdlora",
                             "lora_bias",
                             "megatron_config",
                             "layer_replication",
                             "target_parameters",
                             "trainable_token_indices",
                             "rank_pattern",
                             "alpha_pattern",
                             "alora_invocation_tokens",
                             "arrow_config",
                             "exclude_modules",
                             "layers_to_transform",
                             "layers_pattern",
                             "corda_config",
                             "kasa_config",
                             "lora_ga_config",
                             "monteclora_config",
                             "velora_config"};
// The others: what is read, what says how training began, and settings of the ones above.
constexpr std::array kHarmless = {"auto_mapping",
                                  "base_model_name_or_path",
                                  "bias",
                                  "ensure_weight_tying",
                                  "eva_config",
                                  "fan_in_fan_out",
                                  "inference_mode",
                                  "init_lora_weights",
                                  "loftq_config",
                                  "lora_alpha",
                                  "lora_dropout",
                                  "megatron_core",
                                  "modules_to_save",
                                  "peft_type",
                                  "peft_version",
                                  "qalora_group_size",
                                  "r",
                                  "revision",
                                  "runtime_config",
                                  "target_modules",
                                  "task_type",
                                  "use_rslora"};

bool is_key_of_peft(const std::string& key) {
  return std::ranges::find(kOff, key) != kOff.end() || std::ranges::find(kHarmless, key) != kHarmless.end();
}

// null, false, and what holds nothing.
bool is_off(const Json& value) {
  return value.is_null() || value == false || value.empty() || value == "";
}

// A number or a text alone sets something, and does not switch it on.
bool switches_on(const Json& value) {
  return !is_off(value) && (value.is_boolean() || value.is_structured());
}

void refuse_unknown_keys(const Json& config, const std::string& origin) {
  for (const auto& [key, value] : config.items()) {
    if (is_key_of_peft(key) || !switches_on(value)) continue;
    throw unusable(
        origin, key + " of the adapter is not known here: " + value.dump(),
        std::string(kUnknownToPeft) + ", and what it switches on may change what the adapter computes",
        "peft's merge_and_unload() makes a plain model of it");
  }
}

void refuse_other_forms(const Json& config, const std::string& origin) {
  if (value_of<std::string>(config, "peft_type", "LORA", origin) != "LORA")
    throw unusable(origin, "the folder holds an adapter of the type " + config["peft_type"].dump(),
                   "adapters here are LoRA", "merge it by peft first");
  for (const char* key : kOff) {
    const auto found = config.find(key);
    if (found == config.end() || is_off(*found)) continue;
    throw unusable(origin, std::string(key) + " of the adapter is not supported: " + found->dump(),
                   "adapters here are two matrices beside each module that is named, of one rank and one "
                   "scale for all",
                   "peft's merge_and_unload() makes a plain model of it");
  }
  refuse_unknown_keys(config, origin);
  // Others change the base model when they begin ("pissa", "olora", "corda", "loftq").
  const Json begins = config.value("init_lora_weights", Json());
  if (begins.is_string() && begins != "gaussian" && begins != "eva" && begins != "orthogonal")
    throw unusable(
        origin, "the adapter began as " + begins.dump() + ", which changes the base model",
        "what it was trained beside is not what the folder of the base model holds",
        "peft's save_pretrained with path_initial_model_for_weight_conversion makes a plain LoRA of it");
  if (value_of<std::string>(config, "bias", "none", origin) != "none")
    throw unusable(origin, "the adapter has biases of its own",
                   "bias is " + config["bias"].dump() + ", and here biases stay those of the base model",
                   "peft's merge_and_unload() makes a plain model of it");
}

std::vector<std::string> modules(const Json& config, const char* key, const std::string& origin) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return {};
  if (!found->is_string()) return value_of<std::vector<std::string>>(config, key, {}, origin);
  if (*found == std::string(kAllLinear)) return {std::string(kAllLinear)};
  throw unusable(origin, std::string(key) + " is a regular expression: " + found->dump(),
                 "modules are found by their names, or by endings of these", "a list of names or endings");
}

}  // namespace

Json adapter_config_json(const ParameterTable& table, const AdapterSpec& spec, const AdapterBase& base,
                         const std::string& task_type) {
  const auto or_null = [](const auto& value) { return value.empty() ? Json() : Json(value); };
  const double whole = static_cast<double>(static_cast<int64_t>(spec.alpha));
  return {{"alpha_pattern", Json::object()},
          {"auto_mapping", nullptr},
          {"base_model_name_or_path", base.name},
          {"bias", "none"},
          {"fan_in_fan_out", stores_input_first(table)},
          {"inference_mode", true},
          {"init_lora_weights", true},
          {"layers_pattern", nullptr},
          {"layers_to_transform", nullptr},
          {"lora_alpha", whole == spec.alpha ? Json(static_cast<int64_t>(spec.alpha)) : Json(spec.alpha)},
          {"lora_dropout", spec.dropout},
          {"modules_to_save", or_null(saved_in_memory(table, spec))},
          {"peft_type", "LORA"},
          {"peft_version", kPeftVersion},
          {"r", spec.rank},
          {"rank_pattern", Json::object()},
          {"revision", or_null(base.revision)},
          {"target_modules", target_modules(table)},
          {"task_type", or_null(task_type)},
          {"use_dora", false},
          {"use_rslora", spec.rank_stabilised}};
}

std::string with_dropout(const std::string& text, double dropout) {
  Json config = Json::parse(text);
  config["lora_dropout"] = dropout;
  return dump_json(config) + '\n';
}

std::string with_names_in_memory(const std::string& text, const ParameterTable& table,
                                 const AdapterSpec& spec) {
  const auto names_one = [&](const std::string& target, const auto& name_of) {
    return std::ranges::any_of(table.parameters, [&](const ParameterSpec& parameter) {
      const std::string name = name_of(parameter), module = name.substr(0, name.rfind('.'));
      return !parameter.adapts && (module == target || module.ends_with('.' + target));
    });
  };
  const auto is_of_files_alone = [&](const std::string& target) {
    return names_one(target, [](const ParameterSpec& each) { return each.name; }) &&
           !names_one(target, [](const ParameterSpec& each) { return name_in_memory(each); });
  };
  const std::vector<std::string> saved = saved_in_memory(table, spec);
  if (std::ranges::none_of(spec.targets, is_of_files_alone) && saved == spec.saved_modules) return text;
  Json config = Json::parse(text);
  config["target_modules"] = target_modules(table);
  if (!saved.empty()) config["modules_to_save"] = saved;
  return dump_json(config) + '\n';
}

std::vector<std::string> unknown_adapter_keys(const Json& config) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : config.items()) {
    if (!is_key_of_peft(key) && !is_off(value))
      keys.push_back(key + " (" + value.dump(-1, ' ', false, Json::error_handler_t::replace) + ')');
  }
  return keys;
}

AdapterSpec adapter_from_json(const Json& config, const std::string& origin) {
  if (!config.is_object())
    throw unusable(origin, "the adapter's config is not a JSON object",
                   std::string("it is ") + config.type_name(), "the file that peft wrote");
  refuse_other_forms(config, origin);
  AdapterSpec spec;
  spec.origin = origin;
  spec.rank = value_of<int64_t>(config, "r", 8, origin);
  spec.alpha = value_of<double>(config, "lora_alpha", 8, origin);
  spec.dropout = value_of<double>(config, "lora_dropout", 0, origin);
  spec.rank_stabilised = value_of<bool>(config, "use_rslora", false, origin);
  spec.targets = modules(config, "target_modules", origin);
  spec.saved_modules = modules(config, "modules_to_save", origin);
  // peft writes it, whatever its value, since 0.18; our own files do not have it, and an older peft ties nothing and says no version.
  const bool by_peft =
      !config.contains("peft_version") || !config.value("ensure_weight_tying", Json()).is_null();
  spec.tied_as_one = !by_peft;
  spec.peft_ties = value_of<bool>(config, "ensure_weight_tying", false, origin);
  const bool usable =
      spec.rank >= 1 && spec.rank <= (int64_t{1} << 20) && spec.dropout >= 0 && spec.dropout < 1;
  if (!usable || spec.targets.empty())
    throw unusable(origin, "r, lora_dropout or target_modules of the adapter is missing or out of range",
                   "a rank is 1 or more, dropout at least 0 and below 1, and one module is named at least",
                   "the file that peft wrote");
  return spec;
}

}  // namespace hftrain::architectures
