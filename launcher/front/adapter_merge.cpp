#include "launcher/front/adapter_merge.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/stored_names.h"
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

constexpr const char* kByConfig =
    "write the config of the model with this head beside the adapter: its architectures and labels";

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

const TensorEntry* find_stored(const StoredWeights& base, const ParameterTable& table,
                               const ParameterSpec& spec) {
  for (const std::string& name : architectures::stored_names(table, spec)) {
    if (const TensorEntry* entry = base.find(name)) return entry;
  }
  return nullptr;
}

std::string model_type_of(const Json& config) {
  const Json type = config.is_object() ? config.value("model_type", Json()) : Json();
  return type.is_string() ? type.get<std::string>() : "";
}

bool describes_known_head(const Json& config) {
  const auto head = Architecture::head_of(config);
  return head && Architecture::has_head(model_type_of(config), *head);
}

std::shared_ptr<const Architecture> architecture_of(const Json& config, const std::string& origin) {
  const auto head = Architecture::head_of(config);
  return Architecture::from_config(config, origin, head.value_or(architectures::Head::kCausalLm));
}

std::string config_of_merged(const AdapterWeights& adapter, const std::string& base_folder) {
  const std::string beside = adapter.folder() + '/' + kConfigFile;
  return path_exists(beside) ? beside : base_folder + '/' + kConfigFile;
}

void refuse_unknown_head(const AdapterWeights& adapter, const Json& config, const std::string& origin) {
  const std::string type = model_type_of(config);
  if (describes_known_head(config) || Architecture::has_head(type, architectures::Head::kCausalLm)) return;
  const bool known = std::ranges::count(Architecture::model_types(), type) > 0;
  throw cannot_merge(adapter,
                     "the base model has no tensors of the names and shapes of all that it holds ('" +
                         adapter.whole().begin()->first + "'), and " + origin + " names no " +
                         (known ? "class with a head that is known here" : "family that is known here"),
                     known ? kByConfig : kByPeft);
}

// hftrain writes a config beside such an adapter. peft does not: then it is the base model's, with the tokens that the adapter
// has more.
MergedModel merged_model(const AdapterWeights& adapter, const std::string& base_folder) {
  MergedModel model;
  const std::string origin = config_of_merged(adapter, base_folder);
  model.config = read_json_file(origin);
  refuse_unknown_head(adapter, model.config, origin);
  model.architecture = architecture_of(model.config, origin);
  if (origin != base_folder + '/' + kConfigFile) return model;
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

ExportedTensor from_adapter(const AdapterWeights& adapter, const TensorEntry& whole,
                            const TensorEntry& entry) {
  const auto read = [&adapter, &whole, entry](const Box& rows, std::span<char> bytes) {
    adapter.read_whole(whole, entry, rows, bytes);
  };
  return {entry, read};
}

// What the adapter holds whole, by the names of the base model's tensors that have the same name and shape; nothing where
// one has no such namesake.
using Namesakes = std::map<std::string, const TensorEntry*>;

std::optional<Namesakes> namesakes_of(const AdapterWeights& adapter, const StoredWeights& base) {
  Namesakes namesakes;
  for (const auto& [name, whole] : adapter.whole()) {
    const TensorEntry* stored = base.find(name);
    if (stored == nullptr) stored = base.find(name.substr(name.find('.') + 1));  // without the body's prefix
    if (stored == nullptr || stored->shape != whole->shape) return std::nullopt;
    namesakes[stored->name] = whole;
  }
  return namesakes;
}

// Where no table says which matrices are one: a model's only matrix with a row for each token gives its outputs, too.
void refuse_tie_by_names(const AdapterWeights& adapter, const StoredWeights& base, const Json& config) {
  if (adapter.config().value("ensure_weight_tying", Json()) != false || !config.is_object()) return;
  for (const auto& [name, whole] : adapter.whole()) {
    const std::vector<int64_t>& shape = whole->shape;
    if (shape.size() != 2 || config.value("vocab_size", Json()) != shape[0]) continue;
    if (std::ranges::count(base.entries(), shape, &TensorEntry::shape) != 1) continue;
    throw cannot_merge(adapter, "'" + name + "' is the base model's only matrix with a row for each token, " +
                                    "which gives its outputs, too, and the adapter's was trained apart");
  }
}

// Of a model that is known here its table says more than names: which config it gets, and which matrices are one.
std::optional<Namesakes> merged_by_names(const AdapterWeights& adapter, const StoredWeights& base) {
  if (adapter.whole().empty()) return Namesakes{};
  const Json config = read_json_file(config_of_merged(adapter, base.folder()));
  if (describes_known_head(config)) return std::nullopt;
  const auto namesakes = namesakes_of(adapter, base);
  if (namesakes) refuse_tie_by_names(adapter, base, config);
  return namesakes;
}

// A model of which nothing but adapted matrices and namesakes changes keeps its tensors, however they are called.
std::vector<ExportedTensor> changed_tensors(const StoredWeights& base, AdapterWeights& adapter,
                                            const Namesakes& namesakes) {
  std::vector<ExportedTensor> tensors;
  for (const TensorEntry& entry : base.entries()) {
    const auto own = namesakes.find(entry.name);
    tensors.push_back(own == namesakes.end() ? from_base(base, entry, entry, adapter)
                                             : from_adapter(adapter, *own->second, entry));
  }
  return tensors;
}

// Of what the base model lacks: that of its first numbers, for the oldest files begin with positions, which are integers.
storage::DType new_dtype(const StoredWeights& base, storage::DType otherwise) {
  using storage::DType;
  for (const TensorEntry& entry : base.entries()) {
    if (entry.dtype == DType::kF32 || entry.dtype == DType::kBF16 || entry.dtype == DType::kF16)
      return entry.dtype;
  }
  return otherwise;
}

// What it holds has a place in the model that the config describes.
void require_places(const AdapterWeights& adapter, const ParameterTable& table) {
  for (const auto& [name, entry] : adapter.whole()) {
    const bool known =
        std::ranges::count(table.parameters, name, &ParameterSpec::name) > 0 || is_alias(table, name);
    if (known) continue;
    throw cannot_merge(adapter, "there is no '" + name + "' in the model that " + kConfigFile + " describes",
                       kByConfig);
  }
}

// The tensors of the model that the config describes: the adapter's where it holds them, the base model's otherwise. What only the base
// model's head has is left out, and of tied matrices there is one.
std::vector<ExportedTensor> tensors_of_model(const MergedModel& model, const StoredWeights& base,
                                             AdapterWeights& adapter) {
  const ParameterTable& table = model.architecture->parameters();
  std::vector<ExportedTensor> tensors;
  for (const ParameterSpec& spec : table.parameters) {
    const TensorEntry* stored = find_stored(base, table, spec);
    const auto whole = adapter.whole().find(spec.name);
    const bool own = whole != adapter.whole().end();
    if (!own && stored == nullptr && spec.buffer) continue;
    if (!own && stored == nullptr)
      throw cannot_merge(adapter, "the merged model has a tensor '" + spec.name + "', which neither it nor " +
                                      base.folder() + " has");
    if ((own ? whole->second->shape : stored->shape) != spec.shape)
      throw cannot_merge(adapter,
                         "'" + spec.name + "' has another shape than the merged model's config says");
    const TensorEntry entry{
        spec.name, stored != nullptr ? stored->dtype : new_dtype(base, whole->second->dtype), spec.shape};
    tensors.push_back(own ? from_adapter(adapter, *whole->second, entry)
                          : from_base(base, *stored, entry, adapter));
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
  if (const auto namesakes = merged_by_names(adapter, base)) {
    options.tensors = changed_tensors(base, adapter, *namesakes);
  } else {
    const MergedModel model = merged_model(adapter, base_folder);
    require_places(adapter, model.architecture->parameters());
    refuse_half_of_tied(adapter, model.architecture->parameters());
    options.tensors = tensors_of_model(model, base, adapter);
    if (model.own_config) options.texts[kConfigFile] = dump_json(model.config) + '\n';
  }
  adapter.require_modules(names_of(options.tensors));
  storage::PosixFileSystem files;
  return storage::export_model(files, base_folder, target, options);
}

}  // namespace hftrain::front
