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

DiskSpace disk_space(const std::string& path) {
  const std::filesystem::path place = nearest_there(path);
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0)
    throw system_error(errno, "cannot ask for the file system of", place.string());
  return {status.st_dev, free_bytes(place.string()), folder_error(path)};
}

}  // namespace hftrain
