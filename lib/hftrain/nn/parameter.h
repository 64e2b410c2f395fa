// A parameter as the maths of a unit gets it: its tensor and, of a matrix that has one, a low-rank adapter.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <utility>

namespace hftrain::nn {

// What is added to the product of x and a matrix: scale · dropout(x)·downᵀ·upᵀ (LoRA, arXiv 2106.09685).
struct LowRank {
  at::Tensor down;  // [rank, in]
  at::Tensor up;    // [out, rank]
  double scale = 1;
  double dropout = 0;  // 0 outside training
};

class Parameter {
 public:
  Parameter() = default;
  Parameter(at::Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
  Parameter(at::Tensor tensor, LowRank adapter) : tensor_(std::move(tensor)), adapter_(std::move(adapter)) {}

  // Of a parameter without an adapter: a family that takes the matrix by itself would lose the adapter without a word,
  // and gets an internal Error instead.
  operator const at::Tensor&() const {  // NOLINT(google-explicit-constructor)
    if (adapter_) refuse_to_drop_adapter();
    return tensor_;
  }
  // The matrix that the adapter stands beside.
  const at::Tensor& base() const noexcept { return tensor_; }
  const std::optional<LowRank>& adapter() const noexcept { return adapter_; }

 private:
  [[noreturn]] static void refuse_to_drop_adapter();

  at::Tensor tensor_;
  std::optional<LowRank> adapter_;
};

// Of a unit, in the order of the architecture's table.
using Parameters = c10::ArrayRef<Parameter>;

}  // namespace hftrain::nn
