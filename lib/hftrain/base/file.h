// Files as the rest of the project needs them: whole reads, atomic writes, read-only maps, owned descriptors.
// Every failure is an hftrain::Error that names the path; ENOSPC, EDQUOT, EIO and EFBIG always carry
// ExitCode::kDisk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hftrain/base/exit_code.h"

namespace hftrain {

// Owns one file descriptor. Movable; closes on destruction.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept;
  void reset(int fd = -1) noexcept;

 private:
  int fd_ = -1;
};

// A whole file mapped read-only. The bytes stay valid while the object lives. Safe to read from several
// threads.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path, ExitCode on_error = ExitCode::kData);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const noexcept { return {data_, size_}; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// Lets go of the whole memory pages inside a part of a MappedFile; they come back when touched again.
void release_mapped(std::string_view part) noexcept;

// Not so where the system refuses to look, as for a name that is too long.
bool path_exists(const std::string& path);
bool is_folder(const std::string& path);
std::string read_file(const std::string& path, ExitCode on_error = ExitCode::kData);

// Writes a temporary sibling, syncs it, renames it over `path` and syncs the folder: readers see the old
// bytes or all of the new ones. Creates missing parent folders.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Writes all bytes at the descriptor's position; `path` names it in errors.
void write_all(int fd, std::string_view bytes, const std::string& path);

// Appends and returns without syncing; for logs.
void append_to_file(const std::string& path, std::string_view bytes);

void create_directories(const std::string& path);
// Makes renames and new names inside `directory` durable.
void sync_directory(const std::string& directory);
// Bytes that an ordinary user may still write on the file system holding `path` (or its nearest existing
// parent).
uint64_t free_bytes(const std::string& path);

}  // namespace hftrain
