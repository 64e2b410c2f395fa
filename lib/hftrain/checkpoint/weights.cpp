#include "hftrain/checkpoint/weights.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/checkpoint/added_rows.h"
#include "hftrain/checkpoint/collective_status.h"
#include "hftrain/checkpoint/state_parts.h"
#include "hftrain/checkpoint/tensor_bytes.h"
#include "hftrain/plan/stored_adapter.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/storage/model_folder.h"

namespace hftrain::checkpoint {
namespace {

using architectures::AdapterSpec;
using architectures::ParameterSpec;
using architectures::ParameterTable;
using architectures::SavedCopy;
using architectures::TiedParameter;
using parallel::Access;
using parallel::StatePart;
using storage::StoredWeights;
using storage::TensorEntry;

// Finds a stored tensor under any name that a file may give it, and remembers what was asked for.
class Finder {
 public:
  Finder(const StoredWeights& weights, const ParameterTable& table) : weights_(weights), table_(table) {}

  const TensorEntry* find(const ParameterSpec& spec) {
    const TensorEntry* found = find(spec.name);
    for (const std::string& other : spec.other_names) {
      const TensorEntry* entry = find(other);
      // Of a head's bias that a file has twice the last matrix's own counts, as in transformers.
      if (found == nullptr || (spec.head && entry != nullptr)) found = entry;
    }
    return found;
  }
  const TensorEntry* find(const std::string& name) {
    for (const std::string& stored : architectures::stored_names(table_, name)) {
      const TensorEntry* entry = weights_.find(stored);
      if (entry == nullptr) continue;
      asked_.insert(entry->name);
      return entry;
    }
    return nullptr;
  }
  bool asked_for(const std::string& stored_name) const { return asked_.count(stored_name) > 0; }

 private:
  const StoredWeights& weights_;
  const ParameterTable& table_;
  std::set<std::string> asked_;
};

// Where a parameter is stored: more than once when a file keeps tied tensors apart.
struct StoredParameter {
  std::string name;  // of the parameter
  bool buffer = false;
  std::vector<const TensorEntry*> copies;
  const TensorEntry* mismatch = nullptr;  // one of another shape, for which nothing is loaded
};

Error missing(const std::string& name, const StoredWeights& weights) {
  std::vector<std::string> names;
  for (const TensorEntry& entry : weights.entries()) names.push_back(entry.name);
  return Error(ExitCode::kData, "the model's weights lack '" + name + "'")
      .where(weights.folder())
      .why("config.json describes a model with this tensor, the files do not hold it")
      .hint(did_you_mean(nearest_names(name, names)));
}

Error tied_but_different(const StoredParameter& parameter, const StoredWeights& weights) {
  return Error(ExitCode::kData, "'" + parameter.copies[0]->name + "' and '" + parameter.copies[1]->name +
                                    "' are tied but differ in the file")
      .where(weights.folder())
      .why("the model has them as one tensor")
      .hint("set tie_word_embeddings to false in config.json to train them apart");
}

StoredParameter find_parameter(const ParameterSpec& spec, const std::vector<std::string>& aliases,
                               const StoredWeights& weights, const OpeningRules& rules, Finder& finder) {
  StoredParameter found{spec.name, spec.buffer, {}};
  if (const TensorEntry* entry = finder.find(spec)) found.copies.push_back(entry);
  for (const std::string& alias : aliases) {
    if (const TensorEntry* entry = finder.find(alias)) found.copies.push_back(entry);
  }
  const bool may_lack = spec.buffer || spec.adapts || (spec.head && rules.head == StoredHead::kAnother);
  if (found.copies.empty() && !may_lack) throw missing(spec.name, weights);
  const std::vector<int64_t>& wanted = plan::shape_in_files(spec, rules.grown);
  for (const TensorEntry* copy : found.copies) {
    if (copy->shape != wanted) {
      const std::string path = weights.folder() + '/' + weights.files_of(copy->name).front();
      if (!rules.ignore_mismatched_sizes)
        throw plan::wrong_shape(copy->name, path, wanted, copy->shape, rules.told);
      found.mismatch = copy;
      found.copies.clear();
      break;
    }
    if (copy->shape != found.copies[0]->shape) throw tied_but_different(found, weights);
  }
  return found;
}

// By parameter name. Looks at headers only.
std::map<std::string, StoredParameter> find_parameters(const ParameterTable& table,
                                                       const StoredWeights& weights,
                                                       const OpeningRules& rules, Finder& finder) {
  std::map<std::string, std::vector<std::string>> aliases;
  for (const auto& tied : table.tied) aliases[tied.parameter].push_back(tied.alias);
  std::map<std::string, StoredParameter> found;
  for (const ParameterSpec& spec : table.parameters)
    found[spec.name] = find_parameter(spec, aliases[spec.name], weights, rules, finder);
  return found;
}

void check_copies(const StoredParameter& parameter, const storage::Box& part, const StoredWeights& weights,
                  at::ScalarType as) {
  for (size_t i = 1; i < parameter.copies.size(); ++i) {
    if (!weights.same_numbers(*parameter.copies[0], *parameter.copies[i], part, dtype_of(as)))
      throw tied_but_different(parameter, weights);
  }
}

const ParameterSpec& spec_named(const ParameterTable& table, const std::string& name) {
  return *std::find_if(table.parameters.begin(), table.parameters.end(),
                       [&](const ParameterSpec& spec) { return spec.name == name; });
}

// Some rows at a time: those of another type pass through memory of their own, which would be kept for tensors as large.
void load_rows(const at::Tensor& target, const TensorEntry& entry, const storage::Box& box,
               const StoredWeights& weights) {
  constexpr uint64_t kNumbers = uint64_t{1} << 20;
  for (const storage::Box& rows : storage::row_groups(box, kNumbers)) {
    const at::Tensor group =
        target.dim() == 0 ? target : target.narrow(0, rows.offsets[0] - box.offsets[0], rows.sizes[0]);
    fill(group, entry.dtype, [&](std::span<char> bytes) { weights.read(entry.name, rows, bytes); });
  }
}

// The rows of the part that the file has, and behind them those that it does not have.
void load_part(const StatePart& part, const StoredParameter& parameter, const StoredWeights& weights,
               const AddedRows& added, at::ScalarType compared) {
  const at::NoGradGuard no_grad;  // parts of leaves are written to
  const TensorEntry& entry = *parameter.copies[0];
  storage::Box box = stored_box(part);
  at::Tensor target = part.tensor;
  if (const std::optional<size_t> dim = plan::differing_dim(entry.shape, stored_shape(part))) {
    const int64_t rows = std::clamp<int64_t>(entry.shape[*dim] - box.offsets[*dim], 0, box.sizes[*dim]);
    added.copy_to(part, rows);
    if (rows == 0) return;
    box.sizes[*dim] = rows;
    target = target.narrow(static_cast<int64_t>(*dim), 0, rows);
  }
  check_copies(parameter, box, weights, compared);
  load_rows(target, entry, box, weights);
}

std::vector<std::string> unasked_names(const ParameterTable& table, const StoredWeights& weights,
                                       const Finder& finder) {
  std::vector<std::string> names;
  for (const TensorEntry& entry : weights.entries()) {
    if (finder.asked_for(entry.name)) continue;
    if (!architectures::is_ignored(table, entry.name)) names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What goes into which file, and the parameters in the order of the files' bytes.
struct WeightFiles {
  storage::ShardPlan plan;
  std::vector<size_t> order;
};

WeightFiles plan_files(const ParameterTable& table, at::ScalarType dtype, int64_t max_shard_bytes) {
  std::vector<TensorEntry> entries;
  std::map<std::string, size_t> positions;
  for (const ParameterSpec& spec : table.parameters) {
    positions[spec.name] = entries.size();
    entries.push_back({spec.name, dtype_of(dtype), spec.shape});
  }
  WeightFiles files{storage::plan_shards(entries, max_shard_bytes), {}};
  for (auto& shard : files.plan.shards) {
    shard.entries = storage::in_file_order(std::move(shard.entries));
    for (const TensorEntry& entry : shard.entries) files.order.push_back(positions.at(entry.name));
  }
  return files;
}

// One file of an adapter.
WeightFiles adapter_file(const ParameterTable& table, at::ScalarType dtype, const std::vector<size_t>& saved,
                         const std::vector<SavedCopy>& copies) {
  storage::ShardPlan::Shard shard{architectures::kAdapterWeightsName, {}};
  std::map<std::string, size_t> positions;
  const auto add = [&](size_t position, const std::string& called) {
    const ParameterSpec& spec = table.parameters[position];
    const std::string name = architectures::kAdapterPrefix + called;
    positions[name] = position;
    shard.entries.push_back({name, dtype_of(spec.adapts ? at::kFloat : dtype), spec.shape});
  };
  for (const size_t position : saved)
    add(position, architectures::name_in_memory(table.parameters[position]));
  for (const SavedCopy& copy : copies) add(copy.parameter, copy.alias);
  WeightFiles files;
  shard.entries = storage::in_file_order(std::move(shard.entries));
  for (const TensorEntry& entry : shard.entries) files.order.push_back(positions.at(entry.name));
  files.plan.shards.push_back(std::move(shard));
  return files;
}

// Writes whole tensors as they come, in the order of WeightFiles.
class WeightsWriter {
 public:
  WeightsWriter(const storage::ShardPlan& plan, SaveTarget& target) : plan_(plan), target_(target) {}

  void write(const at::Tensor& whole) {
    const auto& shard = plan_.shards[shard_];
    if (tensor_ == 0) writer_ = target_.open(shard.file, shard.entries);
    writer_->write(shard.entries[tensor_].name, whole.to(scalar_type_of(shard.entries[tensor_].dtype)));
    if (++tensor_ < shard.entries.size()) return;
    writer_->close();
    writer_.reset();
    ++shard_;
    tensor_ = 0;
  }

 private:
  const storage::ShardPlan& plan_;
  SaveTarget& target_;
  std::unique_ptr<TensorWriter> writer_;
  size_t shard_ = 0, tensor_ = 0;  // what is due
};

struct OtherNumbers {
  const char *why, *hint;
};
constexpr OtherNumbers kTrainedApart = {
    "they are one matrix of the model, and peft trained a copy of it apart",
    "merge it by peft's merge_and_unload() into a model whose tie_word_embeddings is false"};
constexpr OtherNumbers kSavedBeside = {
    "peft has saved it beside the adapter, whose config does not name it: it would be left out here",
    "hftrain checkpoint merge makes a plain model of all that the file holds"};

Error other_numbers(const std::string& frozen, const TensorEntry& copy, const StoredWeights& weights,
                    const OtherNumbers& told) {
  return Error(ExitCode::kData, "the adapter's '" + copy.name + "' is not '" + frozen + "' of its base model")
      .where(weights.folder() + '/' + architectures::kAdapterWeightsName)
      .why(told.why)
      .hint(told.hint);
}

// Embeddings that peft saves beside an adapter (save_embedding_layers) whose lists do not name them, and all else that the table has.
std::map<std::string, const TensorEntry*> unnamed_in(const ParameterTable& table,
                                                     const std::vector<size_t>& saved,
                                                     const StoredWeights& weights) {
  std::map<std::string, const TensorEntry*> frozen;
  const auto add = [&](const std::string& name, const std::string& parameter) {
    const TensorEntry* stored = weights.find(architectures::kAdapterPrefix + name);
    if (stored != nullptr) frozen.emplace(parameter, stored);
  };
  for (size_t i = 0; i < table.parameters.size(); ++i) {
    const ParameterSpec& spec = table.parameters[i];
    if (!spec.adapts && std::ranges::count(saved, i) == 0)
      add(architectures::name_in_memory(spec), spec.name);
  }
  for (const TiedParameter& second : table.tied) {
    const auto place = std::ranges::find(table.parameters, second.parameter, &ParameterSpec::name);
    if (std::ranges::count(saved, static_cast<size_t>(place - table.parameters.begin())) == 0)
      add(second.alias, second.parameter);
  }
  return frozen;
}

// That copies, by the names of what they are copies of, are what this rank has of it, but for the rounding to their type.
void check_frozen(const std::map<std::string, const TensorEntry*>& copies, const StoredWeights& weights,
                  parallel::Strategy& strategy, const OtherNumbers& told) {
  if (copies.empty()) return;
  const at::NoGradGuard no_grad;
  strategy.visit_parameters(
      [&](const StatePart& part) {
        const auto found = copies.find(part.parameter);
        if (found == copies.end()) return;
        const TensorEntry& copy = *found->second;
        if (copy.shape != stored_shape(part)) throw other_numbers(part.parameter, copy, weights, told);
        const at::Tensor stored = at::empty_like(part.tensor);
        load_rows(stored, copy, stored_box(part), weights);
        const at::Tensor own = part.tensor.to(scalar_type_of(copy.dtype)).to(stored.scalar_type());
        if (!at::equal(own, stored)) throw other_numbers(part.parameter, copy, weights, told);
      },
      Access::kRead);
}

void write_files(const WeightFiles& files, parallel::Strategy& strategy, SaveTarget* target) {
  std::optional<WeightsWriter> writer;
  if (target != nullptr) writer.emplace(files.plan, *target);
  std::optional<Error> failure;
  strategy.visit_whole_parameters(files.order, [&](size_t /*index*/, const at::Tensor& whole) {
    if (writer && !failure) failure = attempt([&] { writer->write(whole); });
  });
  if (failure) throw *failure;
}

}  // namespace

LoadedWeights load_weights(const ParameterTable& table, const StoredWeights& weights,
                           parallel::Strategy& strategy, const storage::ByteProgress& progress,
                           const OpeningRules& rules) {
  Finder finder(weights, table);
  const std::map<std::string, StoredParameter> stored = find_parameters(table, weights, rules, finder);
  AddedRows added(rules.generator);
  for (const plan::GrownParameter& grown : rules.grown) {
    const StoredParameter& parameter = stored.at(grown.name);
    const ParameterSpec& spec = spec_named(table, grown.name);
    if (!parameter.copies.empty()) added.add(spec, grown, weights, *parameter.copies[0]);
  }
  strategy.visit_parameters(
      [&](const StatePart& part) {
        const auto found = stored.find(part.parameter);
        if (found == stored.end()) return;  // not of this table: left as it is
        const StoredParameter& parameter = found->second;
        if (parameter.copies.empty()) {
          if (parameter.buffer) part.tensor.zero_();
          return;
        }
        load_part(part, parameter, weights, added, rules.compared);
        if (progress) progress(part.tensor.nbytes());
      },
      Access::kWrite);
  LoadedWeights loaded{unasked_names(table, weights, finder), {}, {}};
  for (const ParameterSpec& spec : table.parameters) {
    const StoredParameter& parameter = stored.at(spec.name);
    if (parameter.mismatch != nullptr) {
      loaded.mismatched.push_back({spec.name, parameter.mismatch->shape, spec.shape});
    } else if (parameter.copies.empty() && !spec.buffer) {
      (spec.adapts ? loaded.adapters : loaded.missing).push_back(spec.name);
    }
  }
  return loaded;
}

void save_weights(const ParameterTable& table, at::ScalarType dtype, parallel::Strategy& strategy,
                  int64_t max_shard_bytes, SaveTarget* target) {
  const WeightFiles files = plan_files(table, dtype, max_shard_bytes);
  write_files(files, strategy, target);
  if (target != nullptr && !files.plan.index.empty())
    target->put(storage::kWeightsIndexName, files.plan.index);
}

void save_adapter(const ParameterTable& table, at::ScalarType dtype, const std::vector<size_t>& saved,
                  const std::vector<SavedCopy>& copies, parallel::Strategy& strategy, SaveTarget* target) {
  write_files(adapter_file(table, dtype, saved, copies), strategy, target);
}

void check_stored(const ParameterTable& table, const StoredWeights& weights) {
  Finder finder(weights, table);
  find_parameters(table, weights, {}, finder);
}

namespace {

// What is wanted of an adapter's file, under its names.
ParameterTable wanted_of_adapter(const ParameterTable& table, const std::vector<size_t>& saved,
                                 const plan::StoredShapes& stored) {
  ParameterTable wanted;
  wanted.ignored_patterns = table.ignored_patterns;
  for (const size_t position : saved) {
    ParameterSpec spec = table.parameters[position];
    spec.other_names = {plan::name_in_adapter(spec, stored)};
    wanted.parameters.push_back(std::move(spec));
  }
  return wanted;
}

// The shapes that are there, if they fit.
plan::StoredShapes fitting_shapes(const ParameterTable& table, const std::vector<size_t>& saved,
                                  const AdapterSpec& spec, const StoredWeights& weights) {
  const std::vector<std::string> files = weights.files();
  const std::string path = weights.folder() + (files.size() == 1 ? '/' + files.front() : "");
  plan::StoredShapes shapes;
  for (const TensorEntry& entry : weights.entries()) shapes[entry.name] = {entry.shape, ""};
  if (const auto misfit = plan::first_misfit(table, saved, spec, path, shapes)) throw *misfit;
  return shapes;
}

}  // namespace

void check_stored_adapter(const ParameterTable& table, const std::vector<size_t>& saved,
                          const AdapterSpec& spec, const StoredWeights& weights) {
  fitting_shapes(table, saved, spec, weights);
}

std::vector<std::string> load_adapter(const ParameterTable& table, const std::vector<size_t>& saved,
                                      const AdapterSpec& spec, const StoredWeights& weights,
                                      parallel::Strategy& strategy, const storage::ByteProgress& progress) {
  ParameterTable wanted = wanted_of_adapter(table, saved, fitting_shapes(table, saved, spec, weights));
  std::map<std::string, const TensorEntry*> of_frozen;
  for (const SavedCopy& copy : architectures::saved_copies(table, spec)) {
    const TensorEntry* stored = weights.find(architectures::kAdapterPrefix + copy.alias);
    const ParameterSpec& parameter = table.parameters[copy.parameter];
    if (stored == nullptr) continue;
    if (std::ranges::count(saved, copy.parameter) > 0) {
      wanted.tied.push_back({stored->name, parameter.name, parameter.unit});
    } else {
      of_frozen[parameter.name] = stored;
    }
  }
  std::map<std::string, const TensorEntry*> unnamed = unnamed_in(table, saved, weights);
  for (const auto& [name, stored] : of_frozen) unnamed.erase(name);
  std::vector<std::string> unused = load_weights(wanted, weights, strategy, progress).unused;
  check_frozen(of_frozen, weights, strategy, kTrainedApart);
  check_frozen(unnamed, weights, strategy, kSavedBeside);
  for (const auto& [name, stored] : of_frozen) std::erase(unused, stored->name);
  return unused;
}

void save_sharded_weights(parallel::Strategy& strategy, int rank, SaveTarget& target) {
  save_parts([&](const auto& visitor, Access access) { strategy.visit_parameters(visitor, access); },
             storage::kShardedModelFolder, rank, target);
}

}  // namespace hftrain::checkpoint
