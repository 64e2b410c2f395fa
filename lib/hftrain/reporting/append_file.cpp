#include "hftrain/reporting/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "hftrain/base/error.h"

namespace hftrain::reporting {

FileDescriptor open_for_lines(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) create_directories(parent.string());
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) throw system_error(errno, "cannot open", path, ExitCode::kDisk);
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(file.get(), &last, 1, size - 1) != 1) {
    throw system_error(errno, "cannot read", path, ExitCode::kDisk);
  }
  if (last != '\n') write_all(file.get(), "\n", path);
  return file;
}

}  // namespace hftrain::reporting
