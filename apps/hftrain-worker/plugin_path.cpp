#include "plugin_path.h"

#include <dlfcn.h>

#include <filesystem>

namespace hftrain::worker {
namespace {

namespace fs = std::filesystem;

// Of a program the loader knows no more than its first argument.
fs::path own_file() {
  Dl_info found{};
  const bool known =
      ::dladdr(reinterpret_cast<void*>(&installed_tree), &found) != 0 && found.dli_fname != nullptr;
  if (known && fs::path(found.dli_fname).extension() == ".so") return fs::canonical(found.dli_fname);
  return fs::read_symlink("/proc/self/exe");
}

}  // namespace

std::string installed_tree() {
  return own_file().parent_path().parent_path().string();
}

std::string plugin_path(const char* name) {
  return installed_tree() + "/lib/" + name;
}

}  // namespace hftrain::worker
