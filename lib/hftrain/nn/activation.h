// Point-wise activations of the transformers families.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

enum class Activation { kGelu, kGeluTanh, kSilu, kRelu, kTanh, kQuickGelu };

// The names that a config.json may use: gelu (the erf form), gelu_new, gelu_pytorch_tanh, gelu_fast, silu,
// swish, relu, quick_gelu, tanh.
const std::vector<std::string>& activation_names();

// By its name. Others are an Error (exit code 4) that lists the names.
Activation activation_by_name(const std::string& name);

// For gelu, in either form, one pass with its own backward where there is a kernel.
at::Tensor activate(Activation activation, const at::Tensor& x, Kernels kernels);

// `kernels`, but kReference for the exact gelu: decoders have always had that of ATen, and keep their bits.
Kernels keeps_bits(Activation activation, Kernels kernels);

// activation(gate) · up. For silu one pass with its own backward where there is a kernel.
at::Tensor gated(Activation activation, const at::Tensor& gate, const at::Tensor& up,
                 const KernelChoice& kernels);

}  // namespace hftrain::nn
