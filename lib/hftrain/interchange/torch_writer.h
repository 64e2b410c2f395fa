// Writer of a file that torch.load reads with weights_only: the values first, then the numbers of the tensors among them.
//
//   TorchWriter file;
//   file.values().open_dict(); …; file.tensor(dtype, shape, write); …; file.values().close_dict();
//   const storage::FileRecord record = file.finish(files, path);
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/interchange/pickle_writer.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/safetensors_writer.h"

namespace hftrain::interchange {

using ByteSink = std::function<void(std::string_view)>;

class TorchWriter {
 public:
  PickleWriter& values() { return values_; }
  // The next value is a tensor. `write` is called by finish() and gives its bytes, row-major, in one piece or several.
  void tensor(storage::DType dtype, std::vector<int64_t> shape, std::function<void(const ByteSink&)> write);
  // Writes and syncs the file.
  storage::FileRecord finish(storage::FileSystem& files, const std::string& path);

 private:
  struct Numbers {
    uint64_t bytes = 0;
    std::function<void(const ByteSink&)> write;
  };
  PickleWriter values_;
  std::vector<Numbers> numbers_;
};

}  // namespace hftrain::interchange
