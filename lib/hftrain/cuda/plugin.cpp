// The one symbol that runtime/cuda_plugin.h looks up.
#include <torch/version.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "hftrain/cuda/cuda_runtime.h"
#include "hftrain/cuda/nccl_backend.h"
#include "hftrain/runtime/cuda_plugin.h"

extern "C" __attribute__((visibility("default"))) const hftrain::runtime::CudaPlugin& hftrain_cuda_plugin() {
  static constexpr hftrain::runtime::CudaPlugin kPlugin{
      .torch_version = TORCH_VERSION,
      .unusable_because = hftrain::cuda::unusable_because,
      .make_runtime = hftrain::cuda::make_cuda_runtime,
      .make_nccl_backend = hftrain::cuda::make_nccl_backend,
      .without_outputs = hftrain::cuda::without_outputs,
  };
  return kPlugin;
}
