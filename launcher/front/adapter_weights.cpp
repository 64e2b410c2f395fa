#include "launcher/front/adapter_weights.h"

#include <algorithm>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/storage/float_numbers.h"

namespace hftrain::front {
namespace {

using storage::Box;
using storage::TensorEntry;

constexpr std::string_view kDown = ".lora_A.weight", kUp = ".lora_B.weight", kWeight = ".weight";
constexpr std::string_view kOfBase = ".base_layer.weight", kOfEmbedding = ".lora_embedding_";
constexpr const char* kByPeft = "peft's merge_and_unload() makes a plain model of it";

// A file may store the body of a model without its prefix.
bool same_name(const std::string& full, const std::string& stored) {
  return full == stored || full.ends_with('.' + stored) || stored.ends_with('.' + full);
}

// Names in files may lack the body's prefix, and targets may be whole names.
bool is_targeted(const architectures::AdapterSpec& spec, const std::string& module) {
  return std::ranges::any_of(spec.targets, [&](const std::string& target) {
    return target == architectures::kAllLinear || same_name(target, module);
  });
}

}  // namespace

AdapterWeights::AdapterWeights(const std::string& folder)
    : weights_(folder, architectures::kAdapterWeightsName) {
  const std::string path = folder + '/' + architectures::kAdapterConfigName;
  config_ = read_json_file(path);
  spec_ = architectures::adapter_from_json(config_, path);
  input_first_ = config_.value("fan_in_fan_out", Json()) == true;
  base_ = plan::base_model_of(config_, path);
  for (const TensorEntry& entry : weights_.entries()) take(entry);
  require_targets();
}

void AdapterWeights::take(const TensorEntry& entry) {
  const std::string prefix = architectures::kAdapterPrefix;
  const std::string name = entry.name.starts_with(prefix) ? entry.name.substr(prefix.size()) : entry.name;
  if (architectures::is_of_wrapper(name)) return;
  const auto module = [&](std::string_view ending) { return name.substr(0, name.size() - ending.size()); };
  if (name.ends_with(kDown)) {
    adapters_[module(kDown)].down = &entry;
  } else if (name.ends_with(kUp)) {
    adapters_[module(kUp)].up = &entry;
  } else if (name.ends_with(kOfBase)) {
    copies_[module(kOfBase)] = &entry;
  } else if (name.find(kOfEmbedding) != std::string::npos) {
    throw Error(ExitCode::kData, "an adapter of embeddings cannot be merged here")
        .where(place_of(entry))
        .why("adapters here stand beside projections; embeddings are trained whole")
        .hint(kByPeft);
  } else {
    whole_[name] = &entry;
  }
}

// Training and generating leave out, as peft does, what the config does not name.
void AdapterWeights::require_targets() const {
  for (const auto& [module, halves] : adapters_) {
    if (is_targeted(spec_, module)) continue;
    throw Error(ExitCode::kData, "target_modules of the adapter's config do not name '" + module + "'")
        .where(folder() + '/' + architectures::kAdapterWeightsName)
        .why("the file has matrices for it, and peft would leave them out")
        .hint("the two files that hftrain or peft wrote together");
  }
}

void AdapterWeights::take_names(const architectures::ParameterTable& table) {
  for (const architectures::TiedParameter& tied : table.tied) tied_[tied.alias] = tied.parameter;
  for (const architectures::ParameterSpec& spec : table.parameters) {
    for (const std::string& stored : architectures::stored_names(table, spec))
      inputs_first_[stored] = spec.input_first;
    const std::string& in_memory = architectures::name_in_memory(spec);
    if (in_memory == spec.name) continue;
    for (const std::string& stored : architectures::stored_names(table, in_memory))
      names_in_files_[stored] = spec.name;
  }
  std::map<std::string, const TensorEntry*> whole;
  for (const auto& [name, entry] : whole_) whole[name_in_files(name)] = entry;
  whole_ = std::move(whole);
}

const std::string& AdapterWeights::name_in_files(const std::string& name) const {
  const auto found = names_in_files_.find(name);
  return found == names_in_files_.end() ? name : found->second;
}

bool AdapterWeights::is_of(const std::string& module, const std::string& name) const {
  return same_name(name_in_files(module + std::string(kWeight)), name_in_files(name));
}

bool AdapterWeights::has_input_first(const std::string& name) const {
  const auto found = inputs_first_.find(name);
  return found == inputs_first_.end() ? input_first_ : found->second;
}

std::string AdapterWeights::place_of(const TensorEntry& entry) const {
  return "'" + entry.name + "' of " + folder() + '/' + architectures::kAdapterWeightsName;
}

AdapterWeights::Matrix AdapterWeights::matrix_of(const TensorEntry& entry) const {
  if (entry.shape.size() != 2)
    throw Error(ExitCode::kData, "'" + entry.name + "' of the adapter is no matrix")
        .where(folder() + '/' + architectures::kAdapterWeightsName)
        .why("it has " + std::to_string(entry.shape.size()) + " dimensions")
        .hint("the file that hftrain or peft wrote");
  const Box whole{{0, 0}, entry.shape};
  std::vector<char> bytes(entry.bytes());
  weights_.read(entry.name, whole, bytes);
  return {entry.shape[0], entry.shape[1], storage::to_floats(entry.dtype, bytes, place_of(entry))};
}

Error AdapterWeights::homeless(const std::string& name) const {
  return Error(ExitCode::kData, "the base model has no '" + name + "'")
      .where(folder() + '/' + architectures::kAdapterWeightsName)
      .why("the adapter was made for another model than " + base_)
      .hint("name the right one as base_model_name_or_path in " +
            std::string(architectures::kAdapterConfigName));
}

Error AdapterWeights::beside_a_tied_matrix(const std::string& module, const std::string& parameter) const {
  return Error(ExitCode::kData, "an adapter of a tied matrix cannot be merged here")
      .where("'" + module + "' of " + folder() + '/' + architectures::kAdapterWeightsName)
      .why("the model has one matrix for it and for '" + parameter +
           "', and the adapter changes one of the two")
      .hint("merge it by peft's merge_and_unload() into a model whose tie_word_embeddings is false");
}

void AdapterWeights::load(const std::string& module) {
  if (loaded_ == module) return;
  const Halves& halves = adapters_.at(module);
  if (halves.down == nullptr || halves.up == nullptr)
    throw homeless(module + std::string(halves.down ? kUp : kDown));
  down_ = matrix_of(*halves.down);
  up_ = matrix_of(*halves.up);
  if (down_.rows != spec_.rank)
    throw Error(ExitCode::kData, "the adapter's matrices have another rank than its config says")
        .where(place_of(*halves.down))
        .why("r is " + std::to_string(spec_.rank) + " in " + architectures::kAdapterConfigName +
             ", and the matrix has " + std::to_string(down_.rows) + " rows")
        .hint("the two files that hftrain or peft wrote together");
  loaded_ = module;
}

const TensorEntry* AdapterWeights::copy_of_base(const std::string& name) const {
  const auto found = std::ranges::find_if(copies_, [&](const auto& each) { return is_of(each.first, name); });
  return found == copies_.end() ? nullptr : found->second;
}

// [rows of `rows`, columns] += scale · up·down, or its transpose where the input stands first.
void AdapterWeights::add_product(const std::string& name, const TensorEntry& entry, const Box& rows,
                                 std::span<char> bytes) {
  const auto found =
      std::ranges::find_if(adapters_, [&](const auto& each) { return is_of(each.first, name); });
  if (found == adapters_.end()) return;
  load(found->first);
  const bool input_first = has_input_first(name);
  const std::vector<int64_t> shape =
      input_first ? std::vector{down_.columns, up_.rows} : std::vector{up_.rows, down_.columns};
  if (entry.shape != shape || down_.rows != up_.columns) throw homeless(found->first);
  const std::string where = "'" + name + "' of " + base_;
  std::vector<float> numbers = storage::to_floats(entry.dtype, bytes, where);
  const int64_t first = rows.offsets[0], width = shape[1];
  const auto scale = static_cast<float>(spec_.scale());
  const auto at = [](const Matrix& m, int64_t i, int64_t j) {
    return m.numbers[static_cast<size_t>(i * m.columns + j)];
  };
  for (int64_t row = 0; row < rows.sizes[0]; ++row) {
    float* target = numbers.data() + row * width;
    for (int64_t r = 0; r < down_.rows; ++r) {
      const float factor = scale * (input_first ? at(down_, r, first + row) : at(up_, first + row, r));
      for (int64_t column = 0; column < width; ++column)
        target[column] += factor * (input_first ? at(up_, column, r) : at(down_, r, column));
    }
  }
  storage::from_floats(entry.dtype, numbers, bytes, where);
}

void AdapterWeights::read_whole(const TensorEntry& whole, const TensorEntry& entry, const Box& rows,
                                std::span<char> bytes) const {
  std::vector<char> stored(storage::volume(rows) * static_cast<uint64_t>(storage::dtype_bits(whole.dtype)) /
                           8);
  weights_.read(whole.name, rows, stored);
  const std::string where = place_of(whole);
  storage::from_floats(entry.dtype, storage::to_floats(whole.dtype, stored, where), bytes,
                       "'" + entry.name + "' of " + base_);
}

bool AdapterWeights::same(const TensorEntry& one, const TensorEntry& other) const {
  return one.shape == other.shape &&
         weights_.same_numbers(one, other, {std::vector<int64_t>(one.shape.size(), 0), one.shape});
}

bool AdapterWeights::same(const TensorEntry& whole, const storage::StoredWeights& base,
                          const TensorEntry& stored) const {
  constexpr uint64_t kNumbers = uint64_t{1} << 20;  // compared at once
  if (whole.shape != stored.shape) return false;
  const auto bytes_of = [](const TensorEntry& entry, const Box& rows) {
    return std::vector<char>(storage::volume(rows) * static_cast<uint64_t>(storage::dtype_bits(entry.dtype)) /
                             8);
  };
  const bool narrows = storage::dtype_bits(whole.dtype) < storage::dtype_bits(stored.dtype);
  const TensorEntry& narrow = narrows ? whole : stored;
  const std::string where = "'" + stored.name + "' of " + base_;
  const Box all{std::vector<int64_t>(stored.shape.size(), 0), stored.shape};
  for (const Box& rows : storage::row_groups(all, kNumbers)) {
    std::vector<char> own = bytes_of(narrow, rows), other = own, read = bytes_of(stored, rows);
    read_whole(whole, narrow, rows, own);
    base.read(stored.name, rows, read);
    storage::from_floats(narrow.dtype, storage::to_floats(stored.dtype, read, where), other, where);
    if (own != other) return false;
  }
  return true;
}

void AdapterWeights::require_modules(const std::set<std::string>& names) const {
  for (const auto& [module, halves] : adapters_) {
    // The base's files may hold a tied matrix under both names.
    const auto tied = tied_.find(module + std::string(kWeight));
    if (tied != tied_.end()) throw beside_a_tied_matrix(module, tied->second);
    if (std::ranges::none_of(names, [&](const std::string& name) { return is_of(module, name); }))
      throw homeless(module);
  }
}

}  // namespace hftrain::front
