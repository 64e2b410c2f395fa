// Freeing and allocating the memory behind a tensor while everything that views it keeps its place: whatever
// autograd saved in the forward pass finds the memory again when it has been allocated for the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace hftrain::parallel {

// Gives the storage of `tensor` `bytes` bytes of fresh memory from its own allocator, or none with 0; no-op
// when it has that many already. The contents are lost. No thread may be using the storage.
void resize_storage(const at::Tensor& tensor, size_t bytes);

}  // namespace hftrain::parallel
