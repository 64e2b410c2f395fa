// A parameter as the maths of a unit gets it: its tensor and, of a matrix that has one, a low-rank adapter. Used by one thread.
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
  // NOLINTNEXTLINE(google-explicit-constructor): one in the compute dtype already
  Parameter(at::Tensor tensor) : stored_(tensor), tensor_(std::move(tensor)) {}
  // Cast to `compute` when somebody asks for it so: a product may take it as it is stored (product.h). `cast`: already.
  Parameter(at::Tensor stored, at::ScalarType compute, at::Tensor cast = {},
            std::optional<LowRank> adapter = std::nullopt)
      : stored_(std::move(stored)),
        compute_(compute),
        tensor_(std::move(cast)),
        adapter_(std::move(adapter)) {}

  // Of a parameter without an adapter: a family that takes the matrix by itself would lose the adapter without a word,
  // and gets an internal Error instead.
  operator const at::Tensor&() const {  // NOLINT(google-explicit-constructor)
    if (adapter_) refuse_to_drop_adapter();
    return base();
  }
  // What the adapter stands beside, in the compute dtype. Cast once for this object and its copies to come.
  const at::Tensor& base() const {
    if (!tensor_.defined() && stored_.defined()) tensor_ = stored_.to(compute_);
    return tensor_;
  }
  // The same as the unit was handed it, whose gradient reaches the leaf without a cast.
  const at::Tensor& stored() const noexcept { return stored_; }
  const std::optional<LowRank>& adapter() const noexcept { return adapter_; }

 private:
  [[noreturn]] static void refuse_to_drop_adapter();

  at::Tensor stored_;
  at::ScalarType compute_ = at::kFloat;
  mutable at::Tensor tensor_;
  std::optional<LowRank> adapter_;
};

// Of a unit, in the order of the architecture's table.
using Parameters = c10::ArrayRef<Parameter>;

}  // namespace hftrain::nn
