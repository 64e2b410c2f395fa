// Tensors and the bytes of a safetensors file.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "hftrain/storage/safetensors_file.h"

namespace hftrain::checkpoint {

at::ScalarType scalar_type_of(storage::DType dtype);  // Error(kData) for a type LibTorch cannot hold
storage::DType dtype_of(at::ScalarType type);

// The bytes of a contiguous CPU tensor; valid while the tensor lives.
std::string_view bytes_of(const at::Tensor& tensor);
// `tensor` itself when it is contiguous on the CPU, else such a copy.
at::Tensor to_host(const at::Tensor& tensor);
// Host memory of the sizes of `tensor`, contiguous; pinned when that is on a device and of 256 MiB at most: a device copies to
// and from such memory without a detour.
at::Tensor host_memory_for(const at::Tensor& tensor, at::ScalarType type);

}  // namespace hftrain::checkpoint
