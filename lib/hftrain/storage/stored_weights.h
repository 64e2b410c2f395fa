// The weights of a model folder or checkpoint, whichever way they are stored: as transformers does (see
// ModelWeights), or in model/ as the slices that each rank of a sharded run wrote (see ShardedState). A
// folder that has both is read as transformers would.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/model_folder.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::storage {

inline constexpr const char* kShardedModelFolder = "model";

// Weights that were found in a layout that is not of this module.
struct FoundWeights {
  std::string folder;
  std::map<std::string, SlicedTensor, std::less<>> tensors;
  std::map<std::string, std::vector<std::string>, std::less<>> files;  // that hold a tensor: relative, sorted
  std::shared_ptr<const void> keeps;                                   // what the slices' bytes lie in
};

// Mapped read-only: opening reads headers only. Several threads may read it. Error(kData) naming the file or
// folder when there are no weights or they are damaged.
class StoredWeights {
 public:
  explicit StoredWeights(const std::string& folder);
  // A single file of the folder alone.
  StoredWeights(const std::string& folder, const std::string& file);
  // What another module found.
  explicit StoredWeights(FoundWeights found);

  const std::string& folder() const noexcept { return folder_; }
  bool sharded() const noexcept { return slices_.has_value(); }
  // Of whole tensors: in files as transformers' in the order that reads them forwards, otherwise by name.
  const std::vector<TensorEntry>& entries() const noexcept { return entries_; }
  // nullptr when there is no such tensor.
  const TensorEntry* find(std::string_view name) const;
  // Copies a box of a tensor into `out`, dense and row-major, and touches no other bytes. Error(kData) when
  // the slices do not cover it, or there is no such tensor.
  void read(std::string_view name, const Box& wanted, std::span<char> out) const;
  // Whether a box of two tensors of one shape holds the same numbers in that type (float_numbers.h), with the errors of read().
  bool same_numbers(const TensorEntry& one, const TensorEntry& other, const Box& part,
                    DType as = DType::kF32) const;

  // Relative to the folder, sorted.
  std::vector<std::string> files() const;
  std::vector<std::string> files_of(std::string_view name) const;

 private:
  void add_whole_tensors();
  void add_slices();
  const SlicedTensor& at(std::string_view name) const;

  std::string folder_;
  std::optional<ModelWeights> whole_;
  std::optional<ShardedState> slices_;
  FoundWeights found_;  // its tensors are below
  std::map<std::string, SlicedTensor, std::less<>> tensors_;
  std::map<std::string, size_t, std::less<>> positions_;  // in entries_
  std::vector<TensorEntry> entries_;
};

}  // namespace hftrain::storage
