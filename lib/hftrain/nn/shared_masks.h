// The masks of a batch, and where its documents begin, in the form that a GPU's attention kernels read, made once for all layers.
#pragma once

#include <ATen/core/Tensor.h>

#include <list>
#include <optional>
#include <vector>

#include "hftrain/nn/document_bounds.h"
#include "hftrain/nn/order_mask.h"

namespace hftrain::nn {

// LibTorch turns a mask of true and false into numbers at each call, and keeps them for the backward pass of that call: of a padded
// batch of decoders [B, 1, T, S] for each layer. For one forward pass and what is repeated of it; one thread at a time.
class SharedMasks {
 public:
  // `documents_at_once`: those of packed rows attend in one call (document_attention.h) where that is possible.
  explicit SharedMasks(bool documents_at_once = false) : documents_at_once_(documents_at_once) {}

  // What is added to the scores: 0 where a key is seen, −∞ elsewhere, of `dtype`. [B, 1, T, S], or [T, S] without `padding`
  // ([B, S], the same at every call); without `order` [B, 1, 1, S]. At least one of the two. Rows begin at multiples of 8 numbers,
  // as the kernels want them. Nobody may write to it.
  at::Tensor get(const at::Tensor& padding, const std::optional<Order>& order, at::ScalarType dtype,
                 at::Device device);
  bool documents_at_once() const { return documents_at_once_; }
  // The same `documents` at every call.
  const DocumentBounds& bounds(const std::vector<int64_t>& documents, at::Device device);

 private:
  struct Made {
    std::optional<Order> order;
    at::ScalarType dtype;
    int64_t keys = 0;
    at::Tensor mask;
  };
  std::list<Made> made_;
  bool documents_at_once_;
  std::optional<DocumentBounds> bounds_;
};

}  // namespace hftrain::nn
