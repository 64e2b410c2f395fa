#include "hftrain/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "hftrain/base/disk_space.h"
#include "hftrain/base/error.h"
#include "hftrain/base/growing_file.h"
#include "hftrain/base/new_file.h"

namespace hftrain {
namespace {

namespace fs = std::filesystem;

FileDescriptor open_file(const std::string& path, int flags, const char* action, ExitCode on_error) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, action, path, on_error);
  return file;
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) reset(other.release());
  return *this;
}

int FileDescriptor::release() noexcept {
  return std::exchange(fd_, -1);
}

void FileDescriptor::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

MappedFile::MappedFile(const std::string& path, ExitCode on_error) : path_(path) {
  const FileDescriptor file = open_file(path, O_RDONLY, "cannot open", on_error);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw system_error(errno, "cannot read the size of", path, on_error);
  if (S_ISDIR(status.st_mode)) throw system_error(EISDIR, "cannot read", path, on_error);
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw system_error(errno, "cannot map", path, on_error);
  data_ = static_cast<const char*>(address);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

void release_mapped(std::string_view part) noexcept {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string read_file(const std::string& path, ExitCode on_error) {
  const FileDescriptor file = open_file(path, O_RDONLY, "cannot open", on_error);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error(errno, "cannot read", path, on_error);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

void write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw system_error(errno, "cannot write", path, ExitCode::kDisk);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  write_file_atomically(path, bytes, FileAccess::kShared);
}

void write_file_atomically(const std::string& path, std::string_view bytes, FileAccess access) {
  GrowingFile file(path, access);
  file.append(bytes);
  file.keep();
}

std::string random_name() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number))
    throw system_error(errno, "cannot draw a random name", "getrandom");
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, number);
  return text;
}

void append_to_file(const std::string& path, std::string_view bytes) {
  const FileDescriptor file = open_file(path, O_WRONLY | O_CREAT | O_APPEND, "cannot open", ExitCode::kDisk);
  write_all(file.get(), bytes, path);
}

void create_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw cannot_create_folder(path, error.value());
}

void sync_directory(const std::string& directory) {
  const FileDescriptor file =
      open_file(directory, O_RDONLY | O_DIRECTORY, "cannot open folder", ExitCode::kDisk);
  // Some network file systems cannot sync a folder and say EINVAL; the rename itself is then as durable as
  // they make it.
  if (::fsync(file.get()) != 0 && errno != EINVAL) {
    throw system_error(errno, "cannot sync folder", directory, ExitCode::kDisk);
  }
}

uint64_t free_bytes(const std::string& path) {
  fs::path place = fs::absolute(path);
  while (!place.empty() && !path_exists(place.string()) && place != place.root_path())
    place = place.parent_path();
  struct statvfs status {};
  if (::statvfs(place.c_str(), &status) != 0)
    throw system_error(errno, "cannot ask for free space on", place.string());
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace hftrain
