// The weights of a transformers model folder: one model.safetensors, or shards named by
// model.safetensors.index.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/safetensors_file.h"

namespace hftrain::storage {

inline constexpr const char* kWeightsName = "model.safetensors";
inline constexpr const char* kWeightsIndexName = "model.safetensors.index.json";
// The weights of an adapter, beside which there may be none of a model (peft's name).
inline constexpr const char* kAdapterName = "adapter_model.safetensors";

// All tensors of a folder, mapped read-only: opening reads headers only, pages come as they are touched.
// Several threads may read it. Errors are Error(kData) naming the file: no weights, a shard missing or
// damaged, a tensor that the index promises and its shard lacks. A folder with only pytorch_model.bin is
// refused with the command that converts it.
class ModelWeights {
 public:
  explicit ModelWeights(const std::string& folder);
  // A single file of the folder alone.
  ModelWeights(const std::string& folder, const std::string& file);

  const std::string& folder() const noexcept { return folder_; }
  // Sorted.
  std::vector<std::string> names() const;
  // nullptr when there is no such tensor. Valid while this object lives.
  const StoredTensor* find(std::string_view name) const;
  // Error(kData) naming the folder and near names.
  const StoredTensor& at(std::string_view name) const;
  // Opened files, in the order of their names.
  const std::vector<SafetensorsFile>& shards() const noexcept { return shards_; }
  // The file that holds a tensor, relative to the folder; empty when there is no such tensor.
  std::string shard_of(std::string_view name) const;

 private:
  struct Place {
    size_t shard = 0;
    const StoredTensor* tensor = nullptr;
  };
  void open_index(const std::string& index_path);
  void add_all(size_t shard);

  std::string folder_;
  std::vector<std::string> shard_names_;
  std::vector<SafetensorsFile> shards_;
  std::map<std::string, Place, std::less<>> places_;
};

// True when `folder` holds weights that ModelWeights opens.
bool has_model_weights(const std::string& folder);
bool holds_adapter_alone(const std::string& folder);
// Error (exit code 4) where it does not, saying what lies there instead. `where` names the folder for people; `otherwise` is
// what to do about a folder with nothing of the kind.
void require_model_weights(const std::string& folder, const std::string& where, const std::string& otherwise);

// Whether a file of that name belongs to a model beside its weights, as those below do.
bool is_model_companion(std::string_view name);

// Files of `folder` that belong to a model beside its weights: its configs, tokenizer, processor and chat
// template files. Sorted names; nothing of a training run.
std::vector<std::string> model_companion_files(const std::string& folder);

// "5GB", "300 MB", "1000": bytes of a shard in decimal units (KB, MB, GB, TB), as transformers'
// max_shard_size. nullopt for anything else and for less than one byte.
std::optional<int64_t> parse_shard_size(std::string_view text);

// Which tensor goes into which file.
struct ShardPlan {
  struct Shard {
    std::string file;  // "model.safetensors" or "model-00001-of-00003.safetensors"
    std::vector<TensorEntry> entries;
  };
  std::vector<Shard> shards;
  std::string index;  // text of model.safetensors.index.json; empty when one file holds everything
};

// Fills files in the order given, as huggingface_hub does: a tensor is never split, one larger than the limit
// gets a file of its own. `max_shard_bytes` counts tensor bytes.
ShardPlan plan_shards(const std::vector<TensorEntry>& entries, int64_t max_shard_bytes);

}  // namespace hftrain::storage
