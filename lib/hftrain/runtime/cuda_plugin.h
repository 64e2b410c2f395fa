// Loading of the CUDA plug-in. The rest of the program links no CUDA library and runs where there is none.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <memory>
#include <string>

#include "hftrain/runtime/device_runtime.h"

namespace c10d {
class Backend;
class Store;
class Work;
}  // namespace c10d

namespace hftrain::runtime {

// What libhftrain_cuda.so offers, by its one exported symbol. Both sides are built together; `torch_version`
// guards against a plug-in of another build.
struct CudaPlugin {
  const char* torch_version;
  // Empty when CUDA can be used in this process; otherwise the driver's reason.
  std::string (*unusable_because)();
  std::unique_ptr<DeviceRuntime> (*make_runtime)();
  c10::intrusive_ptr<c10d::Backend> (*make_nccl_backend)(c10::intrusive_ptr<c10d::Store> store, int rank,
                                                         int world_size, c10::Device device,
                                                         std::chrono::milliseconds timeout);
  c10::intrusive_ptr<c10d::Work> (*without_outputs)(const c10::intrusive_ptr<c10d::Work>& work);
};
using CudaPluginFunction = const CudaPlugin& (*)();
inline constexpr const char* kCudaPluginSymbol = "hftrain_cuda_plugin";

// Loads the plug-in at `path` and keeps it for the life of the process. Must come before anything asks
// LibTorch about CUDA (torch::manual_seed, at::hasCUDA, …): the first question fixes the answer.
// kEnvironment, with the loader's or the driver's reason, if there is no plug-in, no driver, no device, or a
// plug-in of another build.
const CudaPlugin& load_cuda_plugin(const std::string& path);

}  // namespace hftrain::runtime
