#include "hftrain/base/disk_space.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {

DiskSpace disk_space(const std::string& path) {
  std::filesystem::path place = std::filesystem::absolute(path);
  while (!path_exists(place.string()) && place != place.root_path()) place = place.parent_path();
  struct stat status {};
  if (::stat(place.c_str(), &status) != 0)
    throw system_error(errno, "cannot ask for the file system of", place.string());
  return {status.st_dev, free_bytes(place.string())};
}

}  // namespace hftrain
