#include "hftrain/plan/stored_ties.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json_member.h"
#include "hftrain/storage/float_numbers.h"

namespace hftrain::plan {
namespace {

using architectures::Architecture;
using architectures::ParameterSpec;
using architectures::ParameterTable;
using architectures::TiedParameter;
using storage::DType;
using storage::StoredTensor;

const StoredTensor* find_stored(const storage::ModelWeights& weights, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const StoredTensor* found = weights.find(name)) return found;
  }
  return nullptr;
}

// In torch's words and in those of files.
constexpr std::array<std::pair<std::string_view, DType>, 3> kTrained = {
    {{"float32", DType::kF32}, {"bfloat16", DType::kBF16}, {"float16", DType::kF16}}};

DType compared_in(const std::string& name) {
  const auto* found = std::ranges::find(kTrained, name, [](const auto& each) { return each.first; });
  return found == kTrained.end() ? DType::kF32 : found->second;
}

bool differ_in_files(const ParameterTable& table, const TiedParameter& tied,
                     const storage::ModelWeights& weights, DType as) {
  const StoredTensor* own = find_stored(weights, architectures::stored_names(table, tied.alias));
  const StoredTensor* shared = find_stored(weights, architectures::stored_names(table, tied.parameter));
  if (own == nullptr || shared == nullptr) return false;
  return own->entry.shape != shared->entry.shape ||
         !storage::same_numbers(own->entry.dtype, own->bytes, shared->entry.dtype, shared->bytes, as);
}

bool is_stored(const ParameterTable& table, const ParameterSpec& spec, const storage::ModelWeights& weights) {
  return find_stored(weights, architectures::stored_names(table, spec)) != nullptr;
}

Error cannot_stand_apart(const TiedParameter& tied, const storage::ModelWeights& weights,
                         const std::string& why) {
  return Error(ExitCode::kData,
               "'" + tied.parameter + "' and '" + tied.alias + "' are tied but differ in the files")
      .where(weights.folder())
      .why(why)
      .hint("a folder of the model in which the two are one");
}

std::shared_ptr<const Architecture> with_ties(const std::shared_ptr<const Architecture>& architecture,
                                              const std::string& origin) {
  Json config = architecture->config_json();
  if (!architecture->ties_by_files() || config["tie_word_embeddings"] == true) return architecture;
  config["tie_word_embeddings"] = true;
  return Architecture::from_config(config, origin, architecture->head());
}

std::shared_ptr<const Architecture> with_own_matrix(const Architecture& architecture,
                                                    const TiedParameter& tied,
                                                    const storage::ModelWeights& weights,
                                                    const std::string& origin) {
  Json config = architecture.config_json();
  config["tie_word_embeddings"] = false;
  std::shared_ptr<const Architecture> apart;
  try {
    apart = Architecture::from_config(config, origin, architecture.head());
  } catch (const Error&) {
    throw cannot_stand_apart(
        tied, weights, architecture.model_type() + " with an output matrix of its own is not implemented");
  }
  for (const ParameterSpec& spec : apart->parameters().parameters) {
    if (spec.head && !is_stored(apart->parameters(), spec, weights))
      throw cannot_stand_apart(tied, weights, "apart the model has '" + spec.name + "', which they lack");
  }
  return apart;
}

}  // namespace

std::string opened_dtype(const Json& config, const storage::ModelWeights& weights) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const Json named = json_member(config, key);
    if (!named.is_string() || named == "auto") continue;
    const auto name = named.get<std::string>();
    const DType dtype = compared_in(name.starts_with("torch.") ? name.substr(6) : name);
    return std::string(
        std::ranges::find(kTrained, dtype, [](const auto& each) { return each.second; })->first);
  }
  for (const std::string& tensor : weights.names()) {
    for (const auto& [name, dtype] : kTrained) {
      if (weights.at(tensor).entry.dtype == dtype) return std::string(name);
    }
  }
  return "float32";
}

std::shared_ptr<const Architecture> as_stored(std::shared_ptr<const Architecture> architecture,
                                              const storage::ModelWeights& weights, const std::string& origin,
                                              const std::string& dtype) {
  const std::shared_ptr<const Architecture> as_one = with_ties(architecture, origin);
  const ParameterTable& table = as_one->parameters();
  for (const TiedParameter& tied : table.tied) {
    const bool of_output = tied.unit + 1 == static_cast<int>(table.units.size());
    if (of_output && differ_in_files(table, tied, weights, compared_in(dtype)))
      return as_one == architecture ? with_own_matrix(*architecture, tied, weights, origin) : architecture;
  }
  return as_one;
}

std::vector<std::string> lacking_parameters(const Architecture& architecture,
                                            const storage::ModelWeights& weights) {
  std::vector<std::string> lacking;
  const ParameterTable& table = architecture.parameters();
  for (const ParameterSpec& spec : table.parameters) {
    if (!spec.buffer && !is_stored(table, spec, weights)) lacking.push_back(spec.name);
  }
  return lacking;
}

}  // namespace hftrain::plan
