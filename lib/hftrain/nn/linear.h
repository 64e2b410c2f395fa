// Matrix products with parameters. Inputs have any number of leading dimensions; the last one is the feature
// one. A weight's adapter, where it has one, is part of its product.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "hftrain/nn/kernels.h"
#include "hftrain/nn/parameter.h"

namespace hftrain::nn {

// The matrix of a head (head_loss.h) on x: as it is stored where the product rounds it on its way (product.h), and on devices, where
// the head casts it; else in the compute dtype. Of one with an adapter an internal Error.
at::Tensor matrix_of_head(const at::Tensor& x, const Parameter& weight);

// x·W + b with W [in, out]: the Conv1D of GPT-2.
at::Tensor conv1d(const at::Tensor& x, const Parameter& weight, const at::Tensor& bias,
                  Products products = Products::kAten);

// residual + x·W + b with W [in, out]. The product is accumulated into the sum, which saves a pass over the
// output.
at::Tensor conv1d_add(const at::Tensor& residual, const at::Tensor& x, const Parameter& weight,
                      const at::Tensor& bias, Kernels kernels, Products products = Products::kAten);

// x·Wᵀ (+ b) with W [out, in]; an undefined bias is none.
at::Tensor linear(const at::Tensor& x, const Parameter& weight, const at::Tensor& bias,
                  Products products = Products::kAten);

// residual + x·Wᵀ (+ b) with W [out, in].
at::Tensor linear_add(const at::Tensor& residual, const at::Tensor& x, const Parameter& weight,
                      const at::Tensor& bias, Kernels kernels, Products products = Products::kAten);

// Several linear layers of one input ([out_i, in] each, biases all defined or all undefined): the gradients
// with respect to the input are accumulated by the products themselves.
std::vector<at::Tensor> linear_many(const at::Tensor& x, Parameters weights, at::TensorList biases,
                                    Kernels kernels, Products products = Products::kAten);

}  // namespace hftrain::nn
