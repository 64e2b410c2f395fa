// Point-wise activations of the transformers families.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

enum class Activation { kGelu, kGeluTanh, kSilu, kRelu, kQuickGelu };

// By its name in config.json: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, silu, swish, relu, quick_gelu.
// Other names are an Error (exit code 4) that lists these.
Activation activation_by_name(const std::string& name);

// For the tanh form of gelu one pass with its own backward.
at::Tensor activate(Activation activation, const at::Tensor& x, Kernels kernels);

// activation(gate) · up. For silu one pass with its own backward.
at::Tensor gated(Activation activation, const at::Tensor& gate, const at::Tensor& up, Kernels kernels);

}  // namespace hftrain::nn
