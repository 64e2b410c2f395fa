// The file operations of a save, behind one small interface, so that tests can fail or "crash" after any of
// them. Reading goes straight to the real files.
//
// Durability: written bytes survive a crash once the file is synced; names (created files, renames) once the
// folder that holds them is synced. Every failure is an hftrain::Error; a full disk and a write error carry
// ExitCode::kDisk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace hftrain::storage {

// A file being written from front to back by one thread. Destruction closes it; what was not synced may be
// lost.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // Asks for the space of the whole file at once, so that a full disk is found before hours of bytes are
  // written. A file system that cannot reserve is not an error.
  virtual void reserve(uint64_t bytes) = 0;
  virtual void write(std::string_view bytes) = 0;
  virtual void sync() = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // Creates the file, or empties an existing one. Its folder must exist.
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;
  // With missing parents; an existing folder is fine.
  virtual void make_directory(const std::string& path) = 0;
  virtual void sync_directory(const std::string& path) = 0;
  // Within one file system. `to` must not exist, unless both are files, or both folders and it is empty.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  // A file or a folder with everything in it; a missing one is fine.
  virtual void remove(const std::string& path) = 0;
};

// The files of this machine. Stateless: any thread may use it.
class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override;
  void make_directory(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
};

}  // namespace hftrain::storage
