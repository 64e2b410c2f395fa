#include "hftrain/storage/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain::storage {
namespace {

constexpr off_t kWindow = 64 << 20;  // on the way to the disk at a time

class PosixWritableFile final : public WritableFile {
 public:
  explicit PosixWritableFile(const std::string& path)
      : path_(path),
        file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666)) {
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

  void write(std::string_view bytes) override {
    write_all(file_.get(), bytes, path_);
    written_ += static_cast<off_t>(bytes.size());
    if (written_ - begun_ >= kWindow) send_on();
  }

  void sync() override {
    if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot sync", path_, ExitCode::kDisk);
  }

 private:
  // Begins to move the newest bytes to the disk and waits for those before: a large file is written at the
  // pace of the disk, and sync() does not stand for minutes.
  void send_on() {
    move_to_disk(begun_, written_, SYNC_FILE_RANGE_WRITE);
    move_to_disk(moved_, begun_,
                 SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    moved_ = std::exchange(begun_, written_);
  }

  // A failure that it tells of would not be told again by fsync().
  void move_to_disk(off_t begin, off_t end, unsigned how) {
    if (begin == end || ::sync_file_range(file_.get(), begin, end - begin, how) == 0) return;
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT)
      throw system_error(errno, "cannot write to", path_, ExitCode::kDisk);
  }

  std::string path_;
  FileDescriptor file_;
  off_t moved_ = 0, begun_ = 0, written_ = 0;  // on the disk, on the way there, in all
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
