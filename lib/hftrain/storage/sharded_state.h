// Sharded tensors on disk, in the layout that torch.distributed.checkpoint calls DCP-safetensors: every rank
// writes its slices under the tensors' full names, and each file's `__metadata__` says where its slices lie
// in the whole. No file knows the full shape: it is the largest end of any slice per dim.
//
// Rules that keep torch's own readers right: one folder for one kind of state; a rank without slices writes
// no file; step counters are F32 of shape [1], never scalars or integers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/box.h"
#include "hftrain/storage/safetensors_file.h"
#include "hftrain/storage/safetensors_writer.h"

namespace hftrain::storage {

// Where a slice of a tensor lies: a box of sizes `entry.shape` at `offsets`, both of the same length.
struct TensorSlice {
  TensorEntry entry;
  std::vector<int64_t> offsets;
};

// "shard-00002-model-00001-of-00003.safetensors" for rank 1, piece 0 of 3. A tensor name occurs once per
// file, so a rank that holds several slices of one tensor writes several pieces.
std::string shard_file_name(int rank, int piece = 0, int pieces = 1);

// The metadata of a file that holds these slices.
SafetensorsMetadata sharding_metadata(const std::vector<TensorSlice>& slices);

// A tensor and where the bytes of its slices are.
struct SlicedTensor {
  struct Slice {
    Box box;
    const StoredTensor* stored = nullptr;
  };
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;  // of the whole
  std::vector<Slice> slices;   // in the order of the files' names
};

// Copies `wanted` of a tensor into `out`, row-major and dense, from whichever slices overlap it; touches no
// other bytes of the mapped files and lets their pages go behind it. Error(kData) naming `folder` when a part
// of the box is in no slice or slices overlap in part; Error(kInternal) when `out` has not the box's size.
void read_box(const SlicedTensor& tensor, const Box& wanted, std::span<char> out, const std::string& folder);

// All slices in a folder, mapped read-only. Several threads may read it. Damaged files, slices that
// contradict each other and files without sharding information are Error(kData).
class ShardedState {
 public:
  // A folder without any .safetensors file is an empty state.
  explicit ShardedState(const std::string& folder);

  const std::map<std::string, SlicedTensor, std::less<>>& tensors() const noexcept { return tensors_; }
  const std::vector<SafetensorsFile>& files() const noexcept { return files_; }

  // read_box() of tensor `name`; Error(kData) when there is no such tensor.
  void read(std::string_view name, const Box& wanted, std::span<char> out) const;

 private:
  void add_file(const SafetensorsFile& file);

  std::string folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, SlicedTensor, std::less<>> tensors_;
};

}  // namespace hftrain::storage
