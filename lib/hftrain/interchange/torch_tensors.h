// Tensors and numbers in files of torch.save, as those of a sharded state (storage/sharded_state.h) in one slice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/interchange/torch_file.h"
#include "hftrain/storage/sharded_state.h"

namespace hftrain::interchange {

// A pickle may name one container a million times: what is walked is bounded by what optimizers have.
inline constexpr size_t kMostStates = 64;  // of a parameter; an optimizer has three
inline constexpr size_t kMostTensors = size_t{1} << 20;

// Error(kData): `path` holds what no run goes on from, because of `why`.
Error unusable_state(const std::string& path, std::string why);

// Where the slices' bytes are: in files that the caller keeps, and numbers that are no tensors here.
class TorchTensors {
 public:
  explicit TorchTensors(size_t most = kMostTensors) : most_(most) {}
  TorchTensors(const TorchTensors&) = delete;
  TorchTensors& operator=(const TorchTensors&) = delete;

  // As many for each of several parts that one file could be.
  void allow_parts(size_t parts) { most_ *= parts; }

  // A scalar, and a number, has the shape [1]. Error(kData) naming `path` for what is neither, is not stored row by row, or is one
  // too many.
  storage::SlicedTensor add(const std::string& name, const TorchValue& value, const std::string& path);
  // A tensor whose numbers lie one behind another in that of `value`, which has as many, under a shape of its own.
  storage::SlicedTensor add(const std::string& name, const TorchValue& value, std::vector<int64_t> shape,
                            const std::string& path);

  // `count` numbers of `row` from `from` on are those of a tensor from `begin` on, as it stands in one row.
  struct Range {
    uint64_t from = 0, begin = 0, count = 0;
  };
  // Adds them to `whole`, which is of `entry`'s name and shape. Error(kData) naming `path` when either has not as many, or the type
  // is another one than that of what was added before.
  void add_range(storage::SlicedTensor& whole, const TorchValue& row, const Range& range,
                 const storage::TensorEntry& entry, const std::string& path);

 private:
  const storage::StoredTensor& store(storage::StoredTensor stored, const std::string& path);
  storage::SlicedTensor keep(storage::StoredTensor stored, const std::string& path);
  size_t most_;
  std::deque<std::string> own_bytes_;
  std::deque<storage::StoredTensor> stored_;
};

}  // namespace hftrain::interchange
