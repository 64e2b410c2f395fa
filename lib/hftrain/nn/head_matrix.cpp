#include "hftrain/nn/head_matrix.h"

#include <ATen/ops/empty.h>

#include <vector>

#include "hftrain/nn/product.h"

namespace hftrain::nn {
namespace {

at::Tensor with_rows(const at::Tensor& x, int64_t rows, at::ScalarType dtype) {
  if (x.size(0) == rows) return x.to(dtype);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[0] = rows;
  at::Tensor padded = at::empty(sizes, x.options().dtype(dtype));
  padded.narrow(0, 0, x.size(0)).copy_(x);
  padded.narrow(0, x.size(0), rows - x.size(0)).zero_();
  return padded;
}

}  // namespace

int64_t vocabulary_step(const at::Tensor& hidden) {
  constexpr int64_t kOfGpus = 64;
  return hidden.is_cpu() ? 1 : kOfGpus;
}

Head make_head(const at::Tensor& hidden, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
               Products products, int64_t step) {
  const int64_t vocab = weight.size(0), rows = (vocab + step - 1) / step * step;
  const at::ScalarType dtype =
      rounds_on_the_way(hidden, weight) ? weight.scalar_type() : hidden.scalar_type();
  return {.weight = with_rows(weight.detach(), rows, dtype),
          .bias = bias ? std::optional(with_rows(bias->detach(), rows, bias->scalar_type())) : std::nullopt,
          .products = products,
          .vocab = vocab,
          .stored = weight.scalar_type(),
          .trains_weight = weight.requires_grad(),
          .trains_bias = bias && bias->requires_grad()};
}

}  // namespace hftrain::nn
