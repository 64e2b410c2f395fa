// A bias on scores with what a mask hides written into it, for the layers of a stack that share both.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// Of `dtype`: what stands for the score of a hidden key where there is a bias, as in transformers.
double least_number(at::ScalarType dtype);

// bias [1, H, T, S] in `dtype`, with its least number where a key is hidden: by padding [B, S] (0 where there is no token;
// undefined: all are tokens), and with `causal` from queries before it. [1 or B, H, T, S]; attention() with it and nothing else is
// attention() with bias and mask. Rows begin at multiples of 8 numbers and their numbers lie side by side, for otherwise LibTorch
// copies the bias at each call on a GPU.
at::Tensor masked_bias(const at::Tensor& bias, const at::Tensor& padding, bool causal, at::ScalarType dtype);

}  // namespace hftrain::nn
