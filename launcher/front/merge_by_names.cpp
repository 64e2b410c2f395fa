#include "launcher/front/merge_by_names.h"

#include <algorithm>
#include <map>
#include <string>

#include "hftrain/base/file.h"
#include "launcher/front/merged_tensors.h"

namespace hftrain::front {
namespace {

using storage::ExportedTensor;
using storage::StoredWeights;
using storage::TensorEntry;

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
  if (adapter.spec().tied_as_one || !config.is_object()) return;
  for (const auto& [name, whole] : adapter.whole()) {
    const std::vector<int64_t>& shape = whole->shape;
    if (shape.size() != 2 || config.value("vocab_size", Json()) != shape[0]) continue;
    if (std::ranges::count(base.entries(), shape, &TensorEntry::shape) != 1) continue;
    throw cannot_merge(adapter, "'" + name + "' is the base model's only matrix with a row for each token, " +
                                    "which gives its outputs, too, and the adapter's was trained apart");
  }
}

// Of a model that is known here its table says more than names: which config it gets, and which matrices are one.
std::optional<Namesakes> namesakes_that_do(const AdapterWeights& adapter, const StoredWeights& base) {
  if (adapter.whole().empty()) return Namesakes{};
  const Json config = read_json_file(config_of_merged(adapter, base.folder()));
  if (describes_known_head(config)) return std::nullopt;
  const auto namesakes = namesakes_of(adapter, base);
  if (namesakes) refuse_tie_by_names(adapter, base, config);
  return namesakes;
}

}  // namespace

std::optional<std::vector<ExportedTensor>> merged_by_names(const StoredWeights& base,
                                                           AdapterWeights& adapter) {
  const std::optional<Namesakes> namesakes = namesakes_that_do(adapter, base);
  if (!namesakes) return std::nullopt;
  std::vector<ExportedTensor> tensors;
  for (const TensorEntry& entry : base.entries()) {
    const auto own = namesakes->find(entry.name);
    tensors.push_back(own == namesakes->end() ? merged_from_base(base, entry, entry, adapter)
                                              : merged_from_adapter(adapter, *own->second, entry));
  }
  return tensors;
}

}  // namespace hftrain::front
