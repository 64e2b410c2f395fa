// adapter_config.json, as peft 0.21 writes and reads it.
#pragma once

#include <string>
#include <vector>

#include "hftrain/architectures/adapter.h"
#include "hftrain/base/json.h"

namespace hftrain::architectures {

inline constexpr const char* kAdapterConfigName = "adapter_config.json";
inline constexpr const char* kAdapterWeightsName = "adapter_model.safetensors";
// Before the names of all parameters in kAdapterWeightsName.
inline constexpr const char* kAdapterPrefix = "base_model.model.";

// The model that an adapter stands beside: a folder, or a name on the Hub and its revision (empty: the main one).
struct AdapterBase {
  std::string name, revision = "";
};

// `task_type` as peft has it ("CAUSAL_LM"), empty: none. `table`
// has the adapters, whose modules are named.
Json adapter_config_json(const ParameterTable& table, const AdapterSpec& spec, const AdapterBase& base,
                         const std::string& task_type);

// The text of an adapter's config, its modules named as those in memory are: an adapter that another release of peft made names
// them otherwise, and what is saved beside the text has the names of now. Otherwise unchanged.
std::string with_names_in_memory(const std::string& text, const ParameterTable& table,
                                 const AdapterSpec& spec);

// The same text with another share of inputs that training drops.
std::string with_dropout(const std::string& text, double dropout);

// What an adapter_config.json says of an adapter. An Error (exit code 4) that names `origin` for another kind of
// adapter and for what is not implemented: magnitudes, ranks of single modules, biases, regular expressions, and whatever a key
// that peft 0.21 does not have switches on.
AdapterSpec adapter_from_json(const Json& config, const std::string& origin);

inline constexpr const char* kUnknownToPeft = "peft 0.21 has no such key";
// What is left of such keys, "key (value)": numbers and texts, which as a rule are settings of something that is off. In the order of
// their names.
std::vector<std::string> unknown_adapter_keys(const Json& config);

}  // namespace hftrain::architectures
