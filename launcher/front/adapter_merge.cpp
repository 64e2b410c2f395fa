#include "launcher/front/adapter_merge.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "launcher/front/adapter_weights.h"

namespace hftrain::front {
namespace {

using architectures::Architecture;
using architectures::ParameterSpec;
using architectures::ParameterTable;
using storage::Box;
using storage::ExportedTensor;
using storage::StoredWeights;
using storage::TensorEntry;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kByPeft =
    "open the adapter as it is, beside its base model, or merge it by peft's merge_and_unload()";

Error cannot_merge(const AdapterWeights& adapter, const std::string& why, const std::string& hint = kByPeft) {
  return Error(ExitCode::kData, "what the adapter holds whole cannot be merged")
      .where(adapter.folder() + '/' + architectures::kAdapterWeightsName)
      .why(why)
      .hint(hint);
}

// What the merged folder is, where more than matrices of the base model change.
struct MergedModel {
  Json config;
  bool own_config = false;  // it has to be written, for it stands in neither folder
  std::shared_ptr<const Architecture> architecture;
};

// Where a tensor of the table stands in a base model's files, which may lack the body's prefix.
const TensorEntry* find_stored(const StoredWeights& base, const ParameterTable& table,
                               const ParameterSpec& spec) {
  std::vector<std::string> names = {spec.name};
  names.insert(names.end(), spec.other_names.begin(), spec.other_names.end());
  for (const architectures::TiedParameter& tied : table.tied) {
    if (tied.parameter == spec.name) names.push_back(tied.alias);
  }
  for (const std::string& name : names) {
    if (const TensorEntry* entry = base.find(name)) return entry;
    if (!name.starts_with(table.base_prefix)) continue;
    const std::string within = name.substr(table.base_prefix.size());
    if (const TensorEntry* entry = base.find(within)) return entry;
    for (const std::string& prefix : table.other_prefixes) {
      if (const TensorEntry* entry = base.find(prefix + within)) return entry;
    }
  }
  return nullptr;
}

std::shared_ptr<const Architecture> architecture_of(const Json& config, const std::string& origin) {
  const auto head = Architecture::head_of(config);
  return Architecture::from_config(config, origin, head.value_or(architectures::Head::kCausalLm));
}

// hftrain writes a config beside such an adapter. peft does not: then it is the base model's, with the tokens that the adapter
// has more.
MergedModel merged_model(const AdapterWeights& adapter, const std::string& base_folder) {
  const std::string beside = adapter.folder() + '/' + kConfigFile, of_base = base_folder + '/' + kConfigFile;
  MergedModel model;
  const std::string origin = path_exists(beside) ? beside : of_base;
  model.config = read_json_file(origin);
  model.architecture = architecture_of(model.config, origin);
  if (origin == beside) return model;
  for (const ParameterSpec& spec : model.architecture->parameters().parameters) {
    const auto whole = adapter.whole().find(spec.name);
    if (whole == adapter.whole().end() || !spec.embedding || whole->second->shape == spec.shape) continue;
    if (spec.shape[0] != model.architecture->vocab_size())
      continue;  // positions: told when shapes are compared
    model.config["vocab_size"] = whole->second->shape[0];
    model.own_config = true;
  }
  if (model.own_config) model.architecture = architecture_of(model.config, origin);
  return model;
}

// Two matrices that the model has as one may be there twice, or once where both are trained as one.
void refuse_half_of_tied(const AdapterWeights& adapter, const ParameterTable& table) {
  const auto& held = adapter.whole();
  for (const architectures::TiedParameter& tied : table.tied) {
    const auto first = held.find(tied.parameter), alias = held.find(tied.alias);
    if (first == held.end() && alias == held.end()) continue;
    const bool as_one = adapter.config().value("ensure_weight_tying", Json()) != false;
    const bool both = first != held.end() && alias != held.end();
    if (both ? adapter.same(*first->second, *alias->second) : first != held.end() && as_one) continue;
    throw cannot_merge(adapter, "'" + tied.alias + "' and '" + tied.parameter +
                                    "' are one matrix of the model, and the adapter's are trained apart");
  }
}

bool is_alias(const ParameterTable& table, const std::string& name) {
  return std::ranges::any_of(table.tied, [&](const auto& tied) { return tied.alias == name; });
}

ExportedTensor from_base(const StoredWeights& base, const TensorEntry& stored, TensorEntry entry,
                         AdapterWeights& adapter) {
  const auto read = [&base, &adapter, name = stored.name, entry](const Box& rows, std::span<char> bytes) {
    base.read(name, rows, bytes);
    adapter.add_product(entry.name, entry, rows, bytes);
  };
  return {entry, read};
}

// A model of which nothing but adapted matrices changes keeps its tensors, however they are called.
std::vector<ExportedTensor> changed_tensors(const StoredWeights& base, AdapterWeights& adapter) {
  std::vector<ExportedTensor> tensors;
  for (const TensorEntry& entry : base.entries()) tensors.push_back(from_base(base, entry, entry, adapter));
  return tensors;
}

// The tensors of the model that the config describes: the adapter's where it holds them, the base model's otherwise. What only the base
// model's head has is left out, and of tied matrices there is one.
std::vector<ExportedTensor> tensors_of_model(const MergedModel& model, const StoredWeights& base,
                                             AdapterWeights& adapter) {
  const ParameterTable& table = model.architecture->parameters();
  std::vector<ExportedTensor> tensors;
  std::set<std::string> taken;
  for (const ParameterSpec& spec : table.parameters) {
    const TensorEntry* stored = find_stored(base, table, spec);
    const auto whole = adapter.whole().find(spec.name);
    const bool own = whole != adapter.whole().end();
    if (!own && stored == nullptr && spec.buffer) continue;
    if (!own && stored == nullptr)
      throw cannot_merge(adapter, "the merged model has a tensor '" + spec.name + "', which neither it nor " +
                                      base.folder() + " has");
    const std::vector<int64_t>& shape = own ? whole->second->shape : stored->shape;
    if (shape != spec.shape)
      throw cannot_merge(adapter,
                         "'" + spec.name + "' has another shape than the merged model's config says");
    const TensorEntry entry{spec.name, stored != nullptr ? stored->dtype : base.entries().front().dtype,
                            spec.shape};
    if (!own) {
      tensors.push_back(from_base(base, *stored, entry, adapter));
      continue;
    }
    taken.insert(spec.name);
    const auto read = [&adapter, tensor = whole->second, entry](const Box& rows, std::span<char> bytes) {
      adapter.read_whole(*tensor, entry, rows, bytes);
    };
    tensors.push_back({entry, read});
  }
  for (const auto& [name, entry] : adapter.whole()) {
    if (taken.count(name) == 0 && !is_alias(table, name))
      throw cannot_merge(
          adapter, "there is no '" + name + "' in the model that " + kConfigFile + " describes",
          "write the config of the model with this head beside the adapter: its architectures and labels");
  }
  return tensors;
}

void require_adapter(const std::string& folder) {
  for (const char* name : {architectures::kAdapterConfigName, architectures::kAdapterWeightsName}) {
    if (path_exists(folder + '/' + name)) continue;
    throw Error(ExitCode::kData, "the folder holds no adapter")
        .where(folder)
        .why("it has no " + std::string(name))
        .hint("the output folder or a checkpoint of a run with --use_peft");
  }
  if (!path_exists(folder + '/' + storage::kManifestName)) return;
  const storage::Verification result = storage::verify_checkpoint(folder);
  if (!result.ok) {
    throw Error(ExitCode::kData, "a file of the checkpoint is damaged")
        .where(folder + '/' + result.file)
        .why("it " + result.reason)
        .hint("merge another checkpoint of the run");
  }
}

std::set<std::string> names_of(const std::vector<ExportedTensor>& tensors) {
  std::set<std::string> names;
  for (const ExportedTensor& tensor : tensors) names.insert(tensor.entry.name);
  return names;
}

}  // namespace

storage::ExportResult merge_adapter(const std::string& folder, const std::string& target,
                                    int64_t max_shard_bytes, const Environment& environment) {
  require_adapter(folder);
  AdapterWeights adapter(folder);
  const std::string cache = plan::hub_cache_folder(std::nullopt, environment);
  const std::string base_folder = plan::resolve_model_folder(
      adapter.base(), "base_model_name_or_path of " + folder + '/' + architectures::kAdapterConfigName,
      "main", cache);
  const StoredWeights base(base_folder);
  storage::ExportOptions options{.max_shard_bytes = max_shard_bytes, .over = folder};
  if (adapter.whole().empty()) {
    options.tensors = changed_tensors(base, adapter);
  } else {
    const MergedModel model = merged_model(adapter, base_folder);
    refuse_half_of_tied(adapter, model.architecture->parameters());
    options.tensors = tensors_of_model(model, base, adapter);
    if (model.own_config) options.texts[kConfigFile] = dump_json(model.config) + '\n';
  }
  adapter.require_modules(names_of(options.tensors));
  storage::PosixFileSystem files;
  return storage::export_model(files, base_folder, target, options);
}

}  // namespace hftrain::front
