#include "hftrain/base/regular_file.h"

#include <filesystem>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"

namespace hftrain {

bool has_regular_file(const std::string& path, const std::string& what) {
  namespace fs = std::filesystem;
  if (!path_exists(path)) return false;
  std::error_code hidden;
  const fs::file_status status = fs::status(path, hidden);
  if (hidden || fs::is_regular_file(status)) return true;
  throw Error(ExitCode::kData, "a file of " + what + " is no regular file")
      .where(path)
      .why(fs::is_fifo(status)        ? "it is a pipe, and reading it would wait for whoever writes to it"
           : fs::is_directory(status) ? "it is a folder"
                                      : "it is a device or a socket")
      .hint("put the file of " + what + " in its place, or leave " + what + " out");
}

}  // namespace hftrain
