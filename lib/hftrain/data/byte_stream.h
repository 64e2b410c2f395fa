// The bytes of a data file, decompressed on the way when its name ends in .gz or .zst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "hftrain/base/byte_order_mark.h"

namespace hftrain::data {

// Used by one thread. Reads from start to end once, in bounded memory.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Concatenated gzip members and zstd frames are read as one. Errors carry exit code 4.
  static std::unique_ptr<ByteStream> open(const std::string& path);

  // Fills `target` with up to `size` bytes and returns how many there were; 0 only at the end.
  virtual size_t read(char* target, size_t size) = 0;
  // Bytes of the file itself consumed so far, for progress.
  virtual uint64_t file_position() const = 0;
};

}  // namespace hftrain::data
