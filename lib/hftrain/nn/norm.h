// Normalisation over the last dimension, computed in float32 (float64 for float64).
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

// (x − mean)/sqrt(variance + eps)·weight + bias.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps);

// x·rsqrt(mean x² + eps)·weight by LibTorch's kernel of a device: one pass over the row, of which one number is kept, and one rounding at
// the end. Elsewhere the same by its operators. Of one dtype.
at::Tensor rms_norm_of_library(const at::Tensor& x, const at::Tensor& weight, double eps);

// x·rsqrt(mean x² + eps) in float32, cast to x's dtype, times weight [size of the last dimension]. Fused forms round once.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, Kernels kernels);

}  // namespace hftrain::nn
