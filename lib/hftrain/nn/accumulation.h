// The dtype in which sums over many elements are formed.
#pragma once

#include <ATen/core/Tensor.h>

namespace hftrain::nn {

// float32, and float64 for float64: what a composition widens float16 and bfloat16 to.
inline at::ScalarType accumulation_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace hftrain::nn
