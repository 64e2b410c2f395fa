// Writer of a zip file whose entries are stored as they are, from front to back: what torch.load reads. The bytes of an entry come
// in pieces, so that nothing is held in memory; its checksum follows them. Each entry begins at a multiple of 64 bytes, as
// torch.save has it, so that readers may map numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hftrain/base/hash.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/safetensors_writer.h"

namespace hftrain::interchange {

// Used by one thread. Dropped before finish(): the file is left incomplete, as a crash would.
class ZipWriter {
 public:
  // `expected_bytes` are reserved on the disk.
  ZipWriter(storage::FileSystem& files, const std::string& path, uint64_t expected_bytes);

  // An entry of exactly `size` bytes, which write() gives. Fewer or more are a mistake of the caller: Error(kInternal).
  void begin(const std::string& name, uint64_t size);
  void write(std::string_view bytes);
  void end();
  void add(const std::string& name, std::string_view bytes);
  // Writes the directory and syncs the file.
  storage::FileRecord finish();

 private:
  struct Entry {
    std::string name;
    uint64_t header = 0, size = 0;
    uint32_t crc = 0;
  };
  void put(std::string_view bytes);
  [[noreturn]] void refuse(const std::string& why) const;

  std::string path_;
  std::unique_ptr<storage::WritableFile> file_;
  Hasher hasher_;
  uint64_t size_ = 0;
  std::vector<Entry> entries_;
  uint64_t missing_ = 0;  // bytes of the last entry still to come
};

}  // namespace hftrain::interchange
