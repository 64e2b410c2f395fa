#include "launcher/front/merged_tensors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/architectures/architecture.h"
#include "hftrain/base/file.h"
#include "hftrain/base/json_member.h"

namespace hftrain::front {
namespace {

using architectures::Architecture;
using storage::Box;
using storage::ExportedTensor;
using storage::StoredWeights;
using storage::TensorEntry;

}  // namespace

Error cannot_merge(const AdapterWeights& adapter, const std::string& why, const std::string& hint) {
  return Error(ExitCode::kData, "what the adapter holds whole cannot be merged")
      .where(adapter.folder() + '/' + architectures::kAdapterWeightsName)
      .why(why)
      .hint(hint);
}

std::string config_of_merged(const AdapterWeights& adapter, const std::string& base_folder) {
  const std::string beside = adapter.folder() + "/config.json";
  return path_exists(beside) ? beside : base_folder + "/config.json";
}

std::string model_type_of(const Json& config) {
  return json_text(config, "model_type");
}

bool describes_known_head(const Json& config) {
  const auto head = Architecture::head_of(config);
  return head && Architecture::has_head(model_type_of(config), *head);
}

ExportedTensor merged_from_base(const StoredWeights& base, const TensorEntry& stored, TensorEntry entry,
                                AdapterWeights& adapter) {
  const TensorEntry* copy = adapter.copy_of_base(entry.name);
  if (copy != nullptr && copy->shape != entry.shape)
    throw cannot_merge(adapter,
                       "'" + copy->name + "' has another shape than '" + stored.name + "' of the base model");
  const auto read = [&base, &adapter, copy, name = stored.name, entry](const Box& rows,
                                                                       std::span<char> bytes) {
    if (copy != nullptr) {
      adapter.read_whole(*copy, entry, rows, bytes);
    } else {
      base.read(name, rows, bytes);
    }
    adapter.add_product(entry.name, entry, rows, bytes);
  };
  return {entry, read};
}

ExportedTensor widened_from_base(const StoredWeights& base, const TensorEntry& stored, TensorEntry entry) {
  const auto read = [&base, &stored, entry](const Box& rows, std::span<char> bytes) {
    const uint64_t width = static_cast<uint64_t>(storage::dtype_bits(entry.dtype)) / 8;
    Box held = rows;
    held.sizes.back() = stored.shape.back();
    std::vector<char> numbers(storage::volume(held) * width);
    base.read(stored.name, held, numbers);
    std::ranges::fill(bytes, '\0');
    storage::copy_mapped_box(held, held, numbers.data(), rows, bytes.data(), width);
  };
  return {entry, read};
}

ExportedTensor merged_from_adapter(const AdapterWeights& adapter, const TensorEntry& whole,
                                   const TensorEntry& entry) {
  const auto read = [&adapter, &whole, entry](const Box& rows, std::span<char> bytes) {
    adapter.read_whole(whole, entry, rows, bytes);
  };
  return {entry, read};
}

}  // namespace hftrain::front
