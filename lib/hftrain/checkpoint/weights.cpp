#include "hftrain/checkpoint/weights.h"

#include <map>
#include <regex>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/tensor_bytes.h"

namespace hftrain::checkpoint {
namespace {

using architectures::ParameterSpec;
using architectures::ParameterTable;
using storage::ModelWeights;
using storage::StoredTensor;

// Finds a stored tensor under its name or without the base prefix, and remembers what was asked for.
class Finder {
 public:
  Finder(const ModelWeights& weights, std::string prefix) : weights_(weights), prefix_(std::move(prefix)) {}

  const StoredTensor* find(const std::string& name) {
    if (const StoredTensor* stored = take(name)) return stored;
    const bool prefixed = !prefix_.empty() && name.rfind(prefix_, 0) == 0;
    return prefixed ? take(name.substr(prefix_.size())) : nullptr;
  }
  bool asked_for(const std::string& stored_name) const { return asked_.count(stored_name) > 0; }

 private:
  const StoredTensor* take(const std::string& name) {
    const StoredTensor* stored = weights_.find(name);
    if (stored != nullptr) asked_.insert(name);
    return stored;
  }

  const ModelWeights& weights_;
  std::string prefix_;
  std::set<std::string> asked_;
};

std::string shape_text(const std::vector<int64_t>& shape) {
  std::vector<std::string> dims;
  for (const int64_t dim : shape) dims.push_back(std::to_string(dim));
  return '[' + join(dims, ", ") + ']';
}

const StoredTensor& find_parameter(const ParameterSpec& spec, const std::vector<std::string>& aliases,
                                   Finder& finder, const ModelWeights& weights) {
  const StoredTensor* stored = finder.find(spec.name);
  for (const std::string& alias : aliases) {
    const StoredTensor* other = finder.find(alias);
    if (stored == nullptr) stored = other;
    if (other != nullptr && other->bytes != stored->bytes) {
      throw Error(ExitCode::kData, "'" + spec.name + "' and '" + alias + "' are tied but differ in the file")
          .where(weights.folder())
          .hint("set tie_word_embeddings to false in config.json to train them apart");
    }
  }
  if (stored == nullptr) {
    throw Error(ExitCode::kData, "the model's weights lack '" + spec.name + "'")
        .where(weights.folder())
        .why("config.json describes a model with this tensor, the files do not hold it")
        .hint(did_you_mean(nearest_names(spec.name, weights.names())));
  }
  if (stored->entry.shape != spec.shape) {
    throw Error(ExitCode::kData, "'" + spec.name + "' has the wrong shape")
        .where(weights.folder() + '/' + weights.shard_of(stored->entry.name))
        .why("config.json asks for " + shape_text(spec.shape) + ", the file holds " +
             shape_text(stored->entry.shape));
  }
  return *stored;
}

}  // namespace

std::vector<std::string> load_weights(const ParameterTable& table, const std::vector<at::Tensor>& parameters,
                                      const ModelWeights& weights) {
  std::map<std::string, std::vector<std::string>> aliases;
  for (const auto& tied : table.tied) aliases[tied.parameter].push_back(tied.alias);
  Finder finder(weights, table.base_prefix);
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& spec = table.parameters[i];
    copy_stored(find_parameter(spec, aliases[spec.name], finder, weights), parameters[i]);
  }
  std::vector<std::string> unexpected;
  for (const std::string& name : weights.names()) {
    if (finder.asked_for(name)) continue;
    bool ignored = false;
    for (const std::string& pattern : table.ignored_patterns) {
      ignored = ignored || std::regex_search(name, std::regex(pattern));
    }
    if (!ignored) unexpected.push_back(name);
  }
  return unexpected;
}

void save_weights(const ParameterTable& table, const std::vector<at::Tensor>& parameters,
                  int64_t max_shard_bytes, storage::StagedFiles& target) {
  std::vector<storage::TensorEntry> entries;
  std::map<std::string, const at::Tensor*> by_name;
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    entries.push_back(entry_of(table.parameters[i].name, parameters[i]));
    by_name[table.parameters[i].name] = &parameters[i];
  }
  const storage::ShardPlan plan = storage::plan_shards(entries, max_shard_bytes);
  for (const auto& shard : plan.shards) {
    storage::SafetensorsWriter writer = target.open_safetensors(shard.file, shard.entries);
    const std::vector<storage::TensorEntry> in_order = writer.entries();
    for (const storage::TensorEntry& entry : in_order) {
      const at::Tensor host = to_host(*by_name.at(entry.name));
      writer.write(entry.name, bytes_of(host));
    }
    target.close(writer);
  }
  if (!plan.index.empty()) target.put(storage::kWeightsIndexName, plan.index);
}

}  // namespace hftrain::checkpoint
