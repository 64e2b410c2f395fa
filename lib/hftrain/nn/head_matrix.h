// The matrix and the bias of a head as its products take them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "hftrain/nn/kernels.h"

namespace hftrain::nn {

// What counts are the first `vocab` rows of both; those behind them, if there are any, are zero, and so are the logits that they
// give and the gradients of those.
struct Head {
  at::Tensor weight;  // [≥ V, C] in the rows' type, or float32 where products round it on their way
  std::optional<at::Tensor> bias;  // [≥ V]
  Products products = Products::kAten;
  int64_t vocab = 0;                   // V
  at::ScalarType stored = at::kFloat;  // in which the matrix was given: its gradient's
  bool trains_weight = false, trains_bias = false;

  int64_t columns() const { return weight.size(0); }  // of its logits
};

// Of the rows of a head's matrix on the device of `hidden`. A GPU's products load 16 bytes at a time, and for sizes that are no
// multiples of those take kernels of older devices; 64 are whole tiles of theirs. What it gains is not measured yet. The plan counts the
// same step (plan/head_memory.cpp).
int64_t vocabulary_step(const at::Tensor& hidden);

// The head of `weight` [V, C] and `bias` [V] or undefined for the rows `hidden` [n, C], with rows of zeros up to a multiple of `step`.
// A float32 matrix of half rows is cast, where that is a copy anyway in the same pass.
Head make_head(const at::Tensor& hidden, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
               Products products, int64_t step);

}  // namespace hftrain::nn
