#include "hftrain/base/disk_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {

namespace {

std::filesystem::path nearest_there(const std::string& path) {
  std::filesystem::path place = std::filesystem::absolute(path);
  while (!path_exists(place.string()) && place != place.root_path()) place = place.parent_path();
  return place;
}

}  // namespace

int folder_error(const std::string& path) {
  const std::filesystem::path place = nearest_there(path);
  if (!is_folder(place.string())) return ENOTDIR;
  return ::faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string link_to_nowhere(const std::string& path) {
  for (std::filesystem::path part = path; part.has_relative_path(); part = part.parent_path()) {
    std::error_code ignored;
    if (std::filesystem::is_symlink(part, ignored) && !std::filesystem::exists(part, ignored))
      return part.string();
  }
  return "";
}

Error cannot_create_folder(const std::string& path, int error_number) {
  const std::string link = link_to_nowhere(path);
  if (link.empty()) return system_error(error_number, "cannot create folder", path, ExitCode::kDisk);
  return Error(ExitCode::kDisk, "cannot create folder")
      .where(path)
      .why(link + " is a link, and what it leads to is not there")
      .hint("make the folder that it leads to, or name another one");
}

DiskSpace disk_space(const std::string& path) {
  const std::filesystem::path place = nearest_there(path);
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0)
    throw system_error(errno, "cannot ask for the file system of", place.string());
  return {status.st_dev, free_bytes(place.string()), folder_error(path)};
}

}  // namespace hftrain
