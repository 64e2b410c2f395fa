#include "hftrain/reporting/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "hftrain/base/error.h"

namespace hftrain::reporting {

namespace {

// Where the last whole line ends.
off_t end_of_lines(int file, off_t size, const std::string& path) {
  std::array<char, 4096> part{};
  while (size > 0) {
    const off_t from = std::max<off_t>(0, size - static_cast<off_t>(part.size()));
    const ssize_t read = ::pread(file, part.data(), static_cast<size_t>(size - from), from);
    if (read != size - from) throw system_error(errno, "cannot read", path, ExitCode::kDisk);
    const size_t newline = std::string_view(part.data(), static_cast<size_t>(read)).rfind('\n');
    if (newline != std::string_view::npos) return from + static_cast<off_t>(newline) + 1;
    size = from;
  }
  return 0;
}

}  // namespace

FileDescriptor open_for_lines(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) create_directories(parent.string());
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, "cannot open", path, ExitCode::kDisk);
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  const off_t whole = end_of_lines(file.get(), size, path);
  if (whole < size && ::ftruncate(file.get(), whole) != 0)
    throw system_error(errno, "cannot shorten", path, ExitCode::kDisk);
  return file;
}

}  // namespace hftrain::reporting
