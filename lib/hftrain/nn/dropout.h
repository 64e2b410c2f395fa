// Dropout. Draws from the default generator of the tensor's device.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Zeroes elements with probability `p` and scales the rest by 1/(1 − p); the identity when p is 0.
at::Tensor dropout(const at::Tensor& x, double p);

}  // namespace hftrain::nn
