// Dropout: each element becomes 0 with probability p, the others are divided by 1 − p.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// x itself when p is 0. The draws, the result and the gradient have the bits of at::dropout, and the generator of the
// device is left as by it; in float32 on the CPU it draws a byte for each element, and keeps that instead of a number.
at::Tensor dropout(const at::Tensor& x, double p);

// residual + dropout(x, p), of one shape.
at::Tensor add_dropout(const at::Tensor& residual, const at::Tensor& x, double p);

}  // namespace hftrain::nn
