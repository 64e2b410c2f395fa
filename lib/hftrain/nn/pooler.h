// The pooler of encoders: what a sentence is for a classification head.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/activation.h"
#include "hftrain/nn/parameter.h"

namespace hftrain::nn {

// activation(x₀·Wᵀ + b) of the first token x₀ of hidden [B, T, C]; weight [P, C], bias [P]. Most
// have tanh. Returns [B, P].
at::Tensor pool_first_token(const at::Tensor& hidden, const Parameter& weight, const at::Tensor& bias,
                            Activation activation = Activation::kTanh);

}  // namespace hftrain::nn
