// The `.metadata` of a folder of torch.distributed.checkpoint: which boxes of which tensors lie where in the files of the ranks. It
// is a pickle of torch's own classes, which are read as records of a closed list (pickle_reader.h).
// Names: https://github.com/pytorch/pytorch/blob/v2.11.0/torch/distributed/checkpoint/metadata.py
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/storage/box.h"
#include "hftrain/storage/dtype.h"

namespace hftrain::interchange {

inline constexpr const char* kDcpMetadata = ".metadata";

// A box of a tensor in a file, as a file of torch.save that begins at `offset`, both in bytes.
struct DcpChunk {
  storage::Box box;
  std::string file;  // beside the metadata
  uint64_t offset = 0, length = 0;
};

struct DcpTensor {
  std::string name;
  storage::DType dtype = storage::DType::kF32;
  std::vector<int64_t> shape;    // of the whole; empty: a scalar
  std::vector<DcpChunk> chunks;  // that hold numbers; they cover the whole and do not overlap
};

// Sorted by their names. `origin` is what messages call the file. Values that are no tensors (an optimizer's
// settings) are left out. Error(kData) for anything else.
std::vector<DcpTensor> read_dcp_metadata(std::string_view bytes, const std::string& origin);

}  // namespace hftrain::interchange
