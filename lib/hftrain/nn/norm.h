// Normalisation over the last dimension, computed in float32 (float64 for float64).
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

// (x − mean)/sqrt(variance + eps)·weight + bias.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps);

// x·rsqrt(mean x² + eps) in float32, cast to x's dtype, times weight [size of the last dimension].
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, Kernels kernels);

}  // namespace hftrain::nn
