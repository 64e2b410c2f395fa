// Tensors as the memory that a collective of the CPU reads and writes.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "hftrain/comm/shm_kernels.h"

namespace hftrain::comm {

// `parts[r]`: what rank r's piece of `bytes` becomes here. Empty where nothing is kept.
struct GatherPair {
  const std::byte* input = nullptr;
  c10::SmallVector<std::byte*, 8> parts;
  int64_t bytes = 0;
};

// `input` holds one part of `elements` for every rank.
struct ScatterPair {
  std::byte* output = nullptr;
  const std::byte* input = nullptr;
  int64_t elements = 0;
  int64_t element_bytes = 0;
  Reducible how{c10::ScalarType::Float, Combine::kSum};
};

// All of these throw c10::ValueError for a tensor that is not contiguous memory of the CPU, sizes that do not
// fit, or a reduction that is not defined for the dtype.
std::byte* memory_of(const at::Tensor& tensor);
int64_t bytes_of(const at::Tensor& tensor);
Reducible reducible(const at::Tensor& tensor, const c10d::ReduceOp& op, int world_size);
GatherPair gather_pair(const at::Tensor& output, const at::Tensor& input, int world_size);
GatherPair gather_pair(const std::vector<at::Tensor>& outputs, const at::Tensor& input);
ScatterPair scatter_pair(const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& op,
                         int world_size);

}  // namespace hftrain::comm
