// The DeviceRuntime of CUDA: LibTorch's allocator, generators and streams.
#pragma once

#include <memory>
#include <string>

#include "hftrain/runtime/device_runtime.h"

namespace hftrain::cuda {

// Empty when there is a driver and at least one visible device; otherwise what the driver says.
std::string unusable_because();

std::unique_ptr<runtime::DeviceRuntime> make_cuda_runtime();

}  // namespace hftrain::cuda
