#include "launcher/front/merge_by_table.h"

#include <algorithm>
#include <memory>

#include "hftrain/architectures/adapter.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/stored_ties.h"
#include "launcher/front/merged_tensors.h"

namespace hftrain::front {
namespace {

using architectures::Architecture;
using architectures::ParameterSpec;
using architectures::ParameterTable;
using storage::ExportedTensor;
using storage::StoredWeights;
using storage::TensorEntry;

constexpr const char* kConfigFile = "config.json";

// What the merged folder is, where more than matrices of the base model change.
struct DescribedModel {
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

std::shared_ptr<const Architecture> architecture_of(const Json& config, const std::string& origin) {
  const auto head = Architecture::head_of(config);
  return Architecture::from_config(config, origin, head.value_or(architectures::Head::kCausalLm));
}

void refuse_unknown_head(const AdapterWeights& adapter, const Json& config, const std::string& origin) {
  const std::string type = model_type_of(config);
  if (describes_known_head(config) || Architecture::has_head(type, architectures::Head::kCausalLm)) return;
  const bool known = std::ranges::count(Architecture::model_types(), type) > 0;
  throw cannot_merge(adapter,
                     "the base model has no tensors of the names and shapes of all that it holds ('" +
                         adapter.whole().begin()->first + "'), and " + origin + " names no " +
                         (known ? "class with a head that is known here" : "family that is known here"),
                     known ? kMergeByConfig : kMergeByPeft);
}

Json base_config(const std::string& base_folder) {
  const std::string path = base_folder + '/' + kConfigFile;
  return path_exists(path) ? read_json_file(path) : Json();
}

// The run wrote how it trained beside the base model; the merged one is stored and used as the base model is.
void take_use_of_base(const std::string& base_folder, DescribedModel& model) {
  const Json base = base_config(base_folder);
  if (base.is_null()) return;
  const Json before = model.config;
  for (const char* key : {"dtype", "torch_dtype", "use_cache"}) {
    model.config.erase(key);
    if (base.is_object() && base.contains(key)) model.config[key] = base[key];
  }
  model.own_config |= model.config != before;
}

// hftrain writes a config beside such an adapter. peft does not: then it is the base model's, with the tokens that the adapter
// has more.
DescribedModel described_model(const AdapterWeights& adapter, const std::string& base_folder) {
  DescribedModel model;
  const std::string origin = config_of_merged(adapter, base_folder);
  model.config = read_json_file(origin);
  refuse_unknown_head(adapter, model.config, origin);
  model.architecture = architecture_of(model.config, origin);
  const storage::ModelWeights base(base_folder);
  const std::string dtype = plan::opened_dtype(base_config(base_folder), base);
  if (auto stored = plan::as_stored(model.architecture, base, origin, dtype); stored != model.architecture) {
    model.config = stored->config_json();
    model.architecture = std::move(stored);
    model.own_config = true;
  }
  if (origin != base_folder + '/' + kConfigFile) {
    take_use_of_base(base_folder, model);
    return model;
  }
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

// What the model has once may be there twice, once where both are trained as one, or under its other name as a copy of what
// is frozen.
bool is_one(const AdapterWeights& adapter, const ParameterTable& table, const StoredWeights& base,
            const architectures::TiedParameter& tied) {
  const auto& held = adapter.whole();
  const auto first = held.find(tied.parameter), alias = held.find(tied.alias);
  if (first != held.end() && alias != held.end()) return adapter.same(*first->second, *alias->second);
  if (first != held.end()) return adapter.spec().tied_as_one;  // where peft ties the two it writes both
  if (alias == held.end()) return true;
  const TensorEntry* stored =
      find_stored(base, table, *std::ranges::find(table.parameters, tied.parameter, &ParameterSpec::name));
  return stored != nullptr && adapter.same(*alias->second, base, *stored);
}

void refuse_half_of_tied(const AdapterWeights& adapter, const ParameterTable& table,
                         const StoredWeights& base) {
  for (const architectures::TiedParameter& tied : architectures::second_names(table)) {
    if (is_one(adapter, table, base, tied)) continue;
    throw cannot_merge(adapter,
                       "'" + tied.alias + "' and '" + tied.parameter +
                           "' are one matrix of the model, and the adapter's are trained apart",
                       kMergeUntied);
  }
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
  const std::vector<architectures::TiedParameter> second = architectures::second_names(table);
  for (const auto& [name, entry] : adapter.whole()) {
    if (std::ranges::count(table.parameters, name, &ParameterSpec::name) > 0) continue;
    if (std::ranges::count(second, name, &architectures::TiedParameter::alias) > 0) continue;
    throw cannot_merge(adapter, "there is no '" + name + "' in the model that " + kConfigFile + " describes",
                       kMergeByConfig);
  }
}

bool differs_in_columns(const std::vector<int64_t>& stored, const std::vector<int64_t>& wanted) {
  return stored.size() == 2 && wanted.size() == 2 && stored[0] == wanted[0] && stored[1] < wanted[1];
}

// The tensors of the model that the config describes: the adapter's where it holds them, the base model's otherwise. What only the base
// model's head has is left out, and of tied matrices there is one.
std::vector<ExportedTensor> tensors_of_model(const DescribedModel& model, const StoredWeights& base,
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
    const TensorEntry* copy = adapter.copy_of_base(spec.name);  // with the rows of tokens that came later
    const bool widens = !own && spec.buffer && differs_in_columns(stored->shape, spec.shape);
    if (!widens && (own ? whole->second : copy != nullptr ? copy : stored)->shape != spec.shape)
      throw cannot_merge(adapter,
                         "'" + spec.name + "' has another shape than the merged model's config says");
    const TensorEntry entry{
        spec.name, stored != nullptr ? stored->dtype : new_dtype(base, whole->second->dtype), spec.shape};
    tensors.push_back(widens ? widened_from_base(base, *stored, entry)
                      : own  ? merged_from_adapter(adapter, *whole->second, entry)
                             : merged_from_base(base, *stored, entry, adapter));
  }
  return tensors;
}

}  // namespace

MergedModel merged_by_table(const StoredWeights& base, AdapterWeights& adapter) {
  const DescribedModel model = described_model(adapter, base.folder());
  require_places(adapter, model.architecture->parameters());
  refuse_half_of_tied(adapter, model.architecture->parameters(), base);
  MergedModel merged{.tensors = tensors_of_model(model, base, adapter)};
  if (model.own_config) merged.config = dump_json(model.config) + '\n';
  return merged;
}

}  // namespace hftrain::front
