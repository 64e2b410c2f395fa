// The fused operators as a table, and what any form of one is held to: a test for each device generates over
// it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/nn/kernels.h"
#include "hftrain/nn/ops.h"

namespace hftrain::nn::cases {

using Tensors = std::vector<at::Tensor>;

struct OperatorCase {
  std::string name;
  std::optional<ops::Operator> kernel;  // whose kernel it may use; unset: fused by ATen operators alone
  // float64 inputs of the CPU that all get a gradient, for about `rows` rows of `width`. No rows: empty
  // tensors.
  std::function<Tensors(int64_t rows, int64_t width)> inputs;
  std::function<at::Tensor(const Tensors&, Kernels)> apply;
  // Part of it is a constant to the gradients, which finite differences then do not give.
  bool holds_constant = false;
};

const std::vector<OperatorCase>& operator_cases();

// How inputs lie in memory.
enum class Layout { kContiguous, kEverySecond, kTransposed };

// For each case: sizes from one to more than a vector register holds, every layout, empty inputs, big values
// and NaN, output and gradients of both forms, against the composition in float64.
void check_operator(const OperatorCase& each, at::Device device, at::ScalarType dtype);

}  // namespace hftrain::nn::cases
