// A file system that tells how many bytes are written through it, so that one can see a long save move.
#pragma once

#include <functional>

#include "hftrain/storage/file_system.h"

namespace hftrain::storage {

// Told of bytes of files that were read or written since the last call, by any thread. Must not throw. Empty:
// nobody wants to know.
using ByteProgress = std::function<void(uint64_t bytes)>;

class WatchedFileSystem final : public FileSystem {
 public:
  // `files` must outlive the object.
  WatchedFileSystem(FileSystem& files, ByteProgress progress)
      : files_(files), progress_(std::move(progress)) {}
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  void make_directory(const std::string& path) override { files_.make_directory(path); }
  void sync_directory(const std::string& path) override { files_.sync_directory(path); }
  void rename(const std::string& from, const std::string& to) override { files_.rename(from, to); }
  void remove(const std::string& path) override { files_.remove(path); }

 private:
  FileSystem& files_;
  ByteProgress progress_;
};

}  // namespace hftrain::storage
