// Parameters in the type of the forward pass, all of a unit with one operation there and one back: a device would take one for each.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace hftrain::nn {

// Of each float32 tensor what to(dtype) is, whose gradient reaches it in float32 when those of its list are there, at most 64 MiB in float32 or one tensor; the others as they are,
// for LibTorch's kernel takes lists of one type each.
std::vector<at::Tensor> cast_together(at::TensorList tensors, at::ScalarType dtype);

}  // namespace hftrain::nn
