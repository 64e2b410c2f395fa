#include "hftrain/comm/mpi_plugin.h"

#include <dlfcn.h>
#include <torch/version.h>

#include "hftrain/base/error.h"

namespace hftrain::comm {
namespace {

Error unusable(const std::string& path, const std::string& why) {
  return Error(ExitCode::kEnvironment, "MPI cannot be used")
      .where(path)
      .why(why)
      .hint("install openmpi-bin and libopenmpi-dev and build again, or leave --ddp_backend out");
}

std::string loader_reason() {
  const char* reason = ::dlerror();
  return reason ? reason : "unknown reason";
}

}  // namespace

const MpiPlugin& load_mpi_plugin(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw unusable(path, loader_reason());
  const auto function = reinterpret_cast<MpiPluginFunction>(::dlsym(library, kMpiPluginSymbol));
  if (!function) throw unusable(path, loader_reason());
  const MpiPlugin& plugin = function();
  if (plugin.torch_version != std::string(TORCH_VERSION)) {
    throw unusable(path, std::string("the plug-in was built for torch ") + plugin.torch_version +
                             ", this program for " TORCH_VERSION);
  }
  return plugin;
}

}  // namespace hftrain::comm
