// Where documents begin in all rows of a batch, one row after another, as the flash kernels of GPUs are told.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace hftrain::nn {

struct DocumentBounds {
  at::Tensor starts;  // [documents + 1] int32, the last one their end; on the device that attends
  int64_t longest = 0;
};

// Of the documents' lengths. Error(kInternal) for more tokens than an int32 counts. On a GPU nobody waits for the copy.
DocumentBounds bounds_of(const std::vector<int64_t>& documents, at::Device device);

}  // namespace hftrain::nn
