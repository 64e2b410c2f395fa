// The L2 norm of gradients. On the CPU it is summed in float64, so that it does not depend on how they are cut into tensors
// and over ranks: sums of float32 squares differ by what their order makes of 1e-7, these by 1e-16, which is
// gone when the norm is rounded to float32. On a device every tensor's norm is a float32, and their squares are summed in float64.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::optim {

// Sum of the squares of all gradients of `parameters` (those that have one), a float64 scalar on `device`. The same for any number
// of the CPU's threads. The host waits for a device only where the gradients lie on the CPU and `device` is another.
at::Tensor squared_gradient_norm(at::TensorList parameters, at::Device device);

// The same of gradients that lie on a device, at least one, by its own kernels: of each its norm as a float32, then
// squared and summed in float64.
at::Tensor squared_norm_on_device(at::TensorList gradients);

}  // namespace hftrain::optim
