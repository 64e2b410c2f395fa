// Products of two matrices by whoever is quickest.
#pragma once

#include <ATen/core/Tensor.h>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

// left [M, K]·right [K, N] (+ bias [N] unless it is undefined): a new tensor [M, N]. No autograd.
at::Tensor multiply(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                    Products products);

// The same into `out` [M, N], whose rows are contiguous.
void multiply_into(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias,
                   Products products);

// out += left·right.
void add_product(at::Tensor& out, const at::Tensor& left, const at::Tensor& right, Products products);

}  // namespace hftrain::nn
