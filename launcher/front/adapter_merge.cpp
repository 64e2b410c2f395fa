#include "launcher/front/adapter_merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "hftrain/architectures/adapter_config.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/plan/adapter_folder.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/float_numbers.h"
#include "hftrain/storage/stored_weights.h"

namespace hftrain::front {
namespace {

using storage::Box;
using storage::StoredWeights;
using storage::TensorEntry;

constexpr std::string_view kDown = ".lora_A.weight", kUp = ".lora_B.weight", kWeight = ".weight";

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> numbers;  // row-major
};

std::vector<float> numbers_of(const StoredWeights& weights, const TensorEntry& entry) {
  const Box whole{std::vector<int64_t>(entry.shape.size(), 0), entry.shape};
  std::vector<char> bytes(entry.bytes());
  weights.read(entry.name, whole, bytes);
  return storage::to_floats(entry.dtype, bytes);
}

Matrix matrix_of(const StoredWeights& weights, const TensorEntry& entry) {
  if (entry.shape.size() != 2) {
    throw Error(ExitCode::kData, "'" + entry.name + "' of the adapter is no matrix").where(weights.folder());
  }
  return {entry.shape[0], entry.shape[1], numbers_of(weights, entry)};
}

// A file may store the body of a model without its prefix.
bool same_name(const std::string& full, const std::string& stored) {
  return full == stored || full.ends_with('.' + stored) || stored.ends_with('.' + full);
}

class AdapterMerge {
 public:
  explicit AdapterMerge(const std::string& folder)
      : folder_(folder), weights_(folder, architectures::kAdapterWeightsName) {
    const std::string path = folder + '/' + architectures::kAdapterConfigName;
    const Json config = read_json_file(path);
    spec_ = architectures::adapter_from_json(config, path);
    input_first_ = config.value("fan_in_fan_out", Json()) == true;
    base_ = plan::base_model_of(config, path);
    for (const TensorEntry& entry : weights_.entries()) take(entry);
  }

  const std::string& base() const { return base_; }

  // Rows of a tensor of the base model.
  void change(const TensorEntry& entry, const Box& rows, std::span<char> bytes) {
    for (const auto& [module, halves] : adapters_) {
      if (same_name(module + std::string(kWeight), entry.name)) add(module, entry, rows, bytes);
    }
    for (const auto& [name, whole] : whole_) {
      if (same_name(name, entry.name)) replace(name, *whole, entry, rows, bytes);
    }
  }

  // Everything of the adapter found its place.
  void check_complete() const {
    for (const auto& [module, halves] : adapters_) {
      if (used_.count(module) == 0) throw homeless(module);
    }
    for (const auto& [name, whole] : whole_) {
      if (used_.count(name) > 0) continue;
      throw Error(ExitCode::kData,
                  "the base model has no '" + name + "' to put the adapter's in the place of")
          .where(folder_ + '/' + architectures::kAdapterWeightsName)
          .why("merging adds no head and no rows that " + base_ + " does not have")
          .hint("open the adapter as it is: hftrain and peft take the base model beside it");
    }
  }

 private:
  struct Halves {
    const TensorEntry* down = nullptr;
    const TensorEntry* up = nullptr;
  };

  void take(const TensorEntry& entry) {
    const std::string prefix = architectures::kAdapterPrefix;
    const std::string name = entry.name.starts_with(prefix) ? entry.name.substr(prefix.size()) : entry.name;
    const auto module = [&](std::string_view ending) { return name.substr(0, name.size() - ending.size()); };
    if (name.ends_with(kDown)) {
      adapters_[module(kDown)].down = &entry;
    } else if (name.ends_with(kUp)) {
      adapters_[module(kUp)].up = &entry;
    } else {
      whole_[name] = &entry;
    }
  }

  Error homeless(const std::string& name) const {
    return Error(ExitCode::kData, "the base model has no '" + name + "'")
        .where(folder_ + '/' + architectures::kAdapterWeightsName)
        .why("the adapter was made for another model than " + base_)
        .hint("name the right one as base_model_name_or_path in " +
              std::string(architectures::kAdapterConfigName));
  }

  // [rows of `rows`, columns] += scale · up·down, or its transpose where the input stands first.
  void add(const std::string& module, const TensorEntry& entry, const Box& rows, std::span<char> bytes) {
    const Halves& halves = adapters_.at(module);
    if (halves.down == nullptr || halves.up == nullptr)
      throw homeless(module + (halves.down ? kUp : kDown).data());
    if (used_.insert(module).second) {
      down_ = matrix_of(weights_, *halves.down);
      up_ = matrix_of(weights_, *halves.up);
    }
    const std::vector<int64_t> shape =
        input_first_ ? std::vector{down_.columns, up_.rows} : std::vector{up_.rows, down_.columns};
    if (entry.shape != shape || down_.rows != up_.columns) throw homeless(module);
    std::vector<float> numbers = storage::to_floats(entry.dtype, bytes);
    const int64_t first = rows.offsets[0], width = shape[1];
    const auto scale = static_cast<float>(spec_.scale());
    for (int64_t row = 0; row < rows.sizes[0]; ++row) {
      for (int64_t r = 0; r < down_.rows; ++r) {
        const auto at = [&](const Matrix& m, int64_t i, int64_t j) {
          return m.numbers[static_cast<size_t>(i * m.columns + j)];
        };
        const float factor = scale * (input_first_ ? at(down_, r, first + row) : at(up_, first + row, r));
        float* target = numbers.data() + row * width;
        for (int64_t column = 0; column < width; ++column)
          target[column] += factor * (input_first_ ? at(up_, column, r) : at(down_, r, column));
      }
    }
    storage::from_floats(entry.dtype, numbers, bytes);
  }

  void replace(const std::string& name, const TensorEntry& whole, const TensorEntry& entry, const Box& rows,
               std::span<char> bytes) {
    if (entry.shape != whole.shape) throw homeless(name);
    used_.insert(name);
    std::vector<char> stored(storage::volume(rows) * static_cast<uint64_t>(storage::dtype_bits(whole.dtype)) /
                             8);
    weights_.read(whole.name, rows, stored);
    storage::from_floats(entry.dtype, storage::to_floats(whole.dtype, stored), bytes);
  }

  std::string folder_, base_;
  StoredWeights weights_;
  architectures::AdapterSpec spec_;
  bool input_first_ = false;
  std::map<std::string, Halves> adapters_;           // by module
  std::map<std::string, const TensorEntry*> whole_;  // by name
  std::set<std::string> used_;
  Matrix down_, up_;  // of the module whose rows come
};

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

}  // namespace

storage::ExportResult merge_adapter(const std::string& folder, const std::string& target,
                                    int64_t max_shard_bytes, const Environment& environment) {
  require_adapter(folder);
  AdapterMerge merge(folder);
  const std::string cache = plan::hub_cache_folder(std::nullopt, environment);
  const std::string base = plan::resolve_model_folder(
      merge.base(), "base_model_name_or_path of " + folder + '/' + architectures::kAdapterConfigName, "main",
      cache);
  storage::PosixFileSystem files;
  const auto change = [&](const TensorEntry& entry, const Box& rows, std::span<char> bytes) {
    merge.change(entry, rows, bytes);
  };
  return storage::export_model(files, base, target,
                               {.max_shard_bytes = max_shard_bytes,
                                .change = change,
                                .check = [&] { merge.check_complete(); },
                                .over = folder});
}

}  // namespace hftrain::front
