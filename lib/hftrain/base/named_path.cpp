#include "hftrain/base/named_path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {
namespace {

// /dev/stdout, /dev/fd/3: what it leads to is open already, and whoever opened it looks at that and not at its name.
bool is_open_file(const std::filesystem::path& link) {
  std::error_code ignored;
  const std::filesystem::path folder = link.has_parent_path() ? link.parent_path() : ".";
  return std::filesystem::canonical(folder, ignored).string().starts_with("/proc/");
}

// Where whoever opened it is, behind what the file holds.
void write_to_open_file(const std::filesystem::path& link, std::string_view bytes) {
  const FileDescriptor file(::fcntl(std::atoi(link.filename().c_str()), F_DUPFD_CLOEXEC, 0));
  if (!file) throw system_error(errno, "cannot write", link, ExitCode::kDisk);
  write_all(file.get(), bytes, link);
}

bool is_written_through(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_through(const std::string& path, std::string_view bytes) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC));
  if (!file) throw system_error(errno, "cannot open", path, ExitCode::kDisk);
  write_all(file.get(), bytes, path);
}

// The first folder on the way to `path` that this user may not search.
std::string closed_folder(const std::string& path) {
  std::filesystem::path place;
  for (const std::filesystem::path& name : std::filesystem::path(path).parent_path()) {
    place /= name;
    if (::faccessat(AT_FDCWD, place.c_str(), X_OK, AT_EACCESS) != 0 && errno == EACCES) return place.string();
  }
  return "";
}

}  // namespace

void write_named_file(const std::string& path, std::string_view bytes, FileAccess access) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  std::filesystem::path place = path;
  std::error_code ignored;
  for (int followed = 0; !is_written_through(place); ++followed) {
    if (!std::filesystem::is_symlink(place, ignored)) return write_file_atomically(place, bytes, access);
    if (is_open_file(place)) return write_to_open_file(place, bytes);
    if (followed == kMostLinks) throw system_error(ELOOP, "cannot write", path, ExitCode::kDisk);
    place = place.parent_path() / std::filesystem::read_symlink(place);
  }
  write_through(place, bytes);
}

void refuse_hidden(const std::string& path, const std::string& where, ExitCode code) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 || errno == ENOENT || errno == ENOTDIR) return;
  const int number = errno;
  Error error = system_error(number, "a path cannot be looked at", where, code);
  const std::string closed = number == EACCES ? closed_folder(path) : "";
  if (!closed.empty()) error.why(closed + " may not be searched: " + std::strerror(number));
  throw error;
}

void refuse_no_folder(const std::string& path, const std::string& where, ExitCode code) {
  refuse_hidden(path, where, code);
  if (!path_exists(path) || is_folder(path)) return;
  const std::string parent = std::filesystem::path(path).parent_path().string();
  throw Error(code, "a file is named where a folder is meant")
      .where(where)
      .why(path + " is a file")
      .hint("name the folder that it lies in: " + (parent.empty() ? "." : parent));
}

}  // namespace hftrain
