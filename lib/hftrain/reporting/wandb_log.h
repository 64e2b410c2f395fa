// The file run-<id>.wandb: records of protocol buffers in the log format of LevelDB, behind a header of seven bytes.
// Format: github.com/google/leveldb/blob/main/doc/log_format.md, with CRC-32 in the place of CRC-32C, as the wandb
// package has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hftrain/base/file.h"

namespace hftrain::reporting {

class WandbLog {
 public:
  // A new file; Error(kDisk) where there is one.
  explicit WandbLog(const std::string& path);
  // Written at once, in pieces where a block of 32 KiB ends. Throws Error(kDisk).
  void append(std::string_view record);

 private:
  std::string path_;
  FileDescriptor file_;
  uint64_t written_ = 0;
};

}  // namespace hftrain::reporting
