#include "hftrain/base/growing_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "hftrain/base/error.h"

namespace hftrain {
namespace {

constexpr size_t kMostWaiting = size_t{64} << 10;  // bytes

}  // namespace

GrowingFile::GrowingFile(std::string path, FileAccess access) : path_(std::move(path)) {
  const std::filesystem::path target(path_);
  folder_ = target.has_parent_path() ? target.parent_path().string() : ".";
  create_directories(folder_);
  create(access);
}

GrowingFile::~GrowingFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

// Never one that is there already, nor what a link of that name points to: in a folder that others may write
// to, it may have been put there on purpose.
void GrowingFile::create(FileAccess access) {
  while (!file_) {
    std::string name = path_ + ".tmp-" + random_name();
    file_.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       access == FileAccess::kPrivate ? 0600 : 0666));
    if (file_) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST) {
      throw system_error(errno, "cannot create", name, ExitCode::kDisk);
    }
  }
}

void GrowingFile::append(std::string_view bytes) {
  if (waiting_.size() + bytes.size() <= kMostWaiting) {
    waiting_ += bytes;
    return;
  }
  flush();
  if (bytes.size() <= kMostWaiting) {
    waiting_ = bytes;
  } else {
    write_all(file_.get(), bytes, temporary_);
  }
}

void GrowingFile::flush() {
  write_all(file_.get(), waiting_, temporary_);
  waiting_.clear();
}

void GrowingFile::keep() {
  flush();
  if (::fsync(file_.get()) != 0) throw system_error(errno, "cannot sync", temporary_, ExitCode::kDisk);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw system_error(errno, "cannot rename to", path_, ExitCode::kDisk);
  temporary_.clear();
  file_.reset();
  sync_directory(folder_);
}

}  // namespace hftrain
