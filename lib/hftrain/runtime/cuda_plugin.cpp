#include "hftrain/runtime/cuda_plugin.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>
#include <torch/version.h>

#include "hftrain/base/error.h"

namespace hftrain::runtime {
namespace {

Error unusable(const std::string& path, const std::string& why) {
  return Error(ExitCode::kEnvironment, "CUDA cannot be used")
      .where(path)
      .why(why)
      .hint("--use_cpu trains on the CPU; `hftrain devices` shows what this machine has");
}

std::string loader_reason() {
  const char* reason = ::dlerror();
  return reason ? reason : "unknown reason";
}

}  // namespace

const CudaPlugin& load_cuda_plugin(const std::string& path) {
  // RTLD_GLOBAL: the CUDA library registers its operators with, and is looked up by, the CPU library.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) throw unusable(path, loader_reason());
  const auto function = reinterpret_cast<CudaPluginFunction>(::dlsym(library, kCudaPluginSymbol));
  if (!function) throw unusable(path, loader_reason());
  const CudaPlugin& plugin = function();
  if (plugin.torch_version != std::string(TORCH_VERSION)) {
    throw unusable(path, std::string("the plug-in was built for torch ") + plugin.torch_version +
                             ", this program for " TORCH_VERSION);
  }
  if (!at::detail::getCUDAHooks().hasCUDART()) {
    throw unusable(path,
                   "LibTorch was asked about CUDA before the plug-in was loaded, and now stays without it");
  }
  if (const std::string reason = plugin.unusable_because(); !reason.empty()) throw unusable(path, reason);
  return plugin;
}

}  // namespace hftrain::runtime
