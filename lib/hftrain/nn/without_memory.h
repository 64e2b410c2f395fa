// Tensors that have sizes before they have memory, and tensors on the memory of others.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// A contiguous tensor of these sizes whose storage has no bytes: whoever divides a model gives it memory. Reading it
// before is a fault that nobody catches.
at::Tensor without_memory(at::IntArrayRef sizes, const at::TensorOptions& options);

// A contiguous tensor on the storage of `whole`, `offset` numbers from its beginning, that autograd does not know as a
// view. The storage may have no bytes at the time.
at::Tensor part_of(const at::Tensor& whole, int64_t offset, at::IntArrayRef sizes);

}  // namespace hftrain::nn
