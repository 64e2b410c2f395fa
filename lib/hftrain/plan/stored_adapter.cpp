#include "hftrain/plan/stored_adapter.h"

#include <algorithm>
#include <set>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/stored_names.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/storage/float_numbers.h"

namespace hftrain::plan {
namespace {

using architectures::AdapterSpec;
using architectures::ParameterSpec;
using architectures::ParameterTable;
using architectures::SavedCopy;
using architectures::TiedParameter;
using storage::ModelWeights;
using storage::StoredTensor;

std::string in_file(const std::string& name) {
  return architectures::kAdapterPrefix + name;
}

bool holds_twice_the_same(const ModelWeights& file, const TiedParameter& tied) {
  const StoredTensor* one = file.find(in_file(tied.parameter));
  const StoredTensor* other = file.find(in_file(tied.alias));
  return one != nullptr && other != nullptr && one->entry.shape == other->entry.shape &&
         storage::same_numbers(one->entry.dtype, one->bytes, other->entry.dtype, other->bytes);
}

Error lacking(const std::string& name, const std::string& path) {
  return Error(ExitCode::kData, "the adapter lacks '" + name + "'")
      .where(path)
      .why("the run trains this tensor, which is not there")
      .hint("the lora_* flags with which the adapter was made");
}

Error tied_once(const std::string& name, const std::string& alias, const std::string& path) {
  return Error(ExitCode::kData, "the adapter has two matrices where the model has one")
      .where(path)
      .why("it holds '" + name + "' without '" + alias +
           "', which peft writes, too, where it trains the two as one")
      .hint("merge it by peft's merge_and_unload() into a model whose tie_word_embeddings is false");
}

// What peft computes with would be left out, and missing from what is saved.
Error without_place(const std::string& name, const std::string& path) {
  return Error(ExitCode::kData, "the model has no place for '" + name + "' of the adapter")
      .where(path)
      .why("its config names the module, which is one of another head or of another base model")
      .hint("--task of the head that it was trained for, or its own base model");
}

std::optional<Error> first_without_place(const ParameterTable& table, const AdapterSpec& spec,
                                         const std::string& path, const StoredShapes& stored,
                                         const std::set<std::string>& read) {
  const std::string prefix = architectures::kAdapterPrefix;
  for (const auto& [name, shape] : stored) {
    const std::string own = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (read.contains(name) || !architectures::is_named(spec, own)) continue;
    if (!architectures::is_ignored(table, name)) return without_place(own, path);
  }
  return std::nullopt;
}

}  // namespace

AdapterSpec as_stored(AdapterSpec spec, const ParameterTable& table, const ModelWeights& file) {
  const std::vector<TiedParameter> saved = architectures::tied_and_saved(table, spec);
  spec.tied_as_one =
      spec.tied_as_one || (!saved.empty() && std::ranges::all_of(saved, [&](const TiedParameter& tied) {
        return holds_twice_the_same(file, tied);
      }));
  return spec;
}

std::string name_in_adapter(const ParameterSpec& spec, const StoredShapes& stored) {
  const std::string as_in_files = in_file(spec.name);
  return stored.contains(as_in_files) ? as_in_files : in_file(architectures::name_in_memory(spec));
}

std::optional<Error> first_misfit(const ParameterTable& table, const std::vector<size_t>& trained,
                                  const AdapterSpec& spec, const std::string& path,
                                  const StoredShapes& stored) {
  std::set<std::string> read;
  for (const size_t position : trained) {
    const ParameterSpec& parameter = table.parameters[position];
    const std::string name = name_in_adapter(parameter, stored);
    const auto found = stored.find(name);
    if (found == stored.end()) return lacking(name, path);
    if (found->second.shape != parameter.shape)
      return wrong_shape(name, path, parameter.shape, found->second.shape, /*way_out=*/false);
    read.insert(name);
  }
  for (const SavedCopy& copy : architectures::saved_copies(table, spec)) {
    const std::string name = in_file(copy.alias);
    if (copy.by_peft && !stored.contains(name))
      return tied_once(table.parameters[copy.parameter].name, copy.alias, path);
    read.insert(name);
  }
  return first_without_place(table, spec, path, stored, read);
}

}  // namespace hftrain::plan
