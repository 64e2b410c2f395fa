#include "hftrain/storage/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::storage {
namespace {

class PosixWritableFile final : public WritableFile {
 public:
  explicit PosixWritableFile(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (!file_) throw system_error(errno, "cannot create", path_, ExitCode::kDisk);
  }

  void reserve(uint64_t bytes) override {
    if (bytes == 0) return;
    // KEEP_SIZE: a file cut short by a crash must look short.
    if (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return;
    if (errno == ENOSPC || errno == EDQUOT) {
      throw system_error(errno, "cannot reserve space for", path_, ExitCode::kDisk);
    }
  }

  void write(std::string_view bytes) override { write_all(file_.get(), bytes, path_); }

  void sync() override {
    if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot sync", path_, ExitCode::kDisk);
  }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace

std::unique_ptr<WritableFile> PosixFileSystem::create(const std::string& path) {
  return std::make_unique<PosixWritableFile>(path);
}

void PosixFileSystem::make_directory(const std::string& path) {
  create_directories(path);
}

void PosixFileSystem::sync_directory(const std::string& path) {
  hftrain::sync_directory(path);
}

void PosixFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw system_error(errno, "cannot rename " + from + " to", to, ExitCode::kDisk);
  }
}

void PosixFileSystem::remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw system_error(error.value(), "cannot remove", path, ExitCode::kDisk);
}

}  // namespace hftrain::storage
