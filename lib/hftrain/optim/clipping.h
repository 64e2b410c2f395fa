// Clipping by the norm of all gradients.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::optim {

struct Clipping {
  // Float32 scalars: the norm of the gradients divided by the loss scale, before they are clipped, and what they are to be multiplied
  // by, which divides by the scale, too (undefined: nothing).
  at::Tensor norm, factor;
};

// `squares`: the sum of the squares of all gradients, a float64 scalar. `max_norm` 0 does not clip; `loss_scale`: what the loss was
// multiplied by, a scalar beside `squares`, or undefined. Nothing waits for the device.
Clipping clipping_of(const at::Tensor& squares, double max_norm, const at::Tensor& loss_scale);

}  // namespace hftrain::optim
