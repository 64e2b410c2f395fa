#include "plugin_path.h"

#include <filesystem>

namespace hftrain::worker {

std::string plugin_path(const char* name) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  return (program.parent_path().parent_path() / "lib" / name).string();
}

}  // namespace hftrain::worker
