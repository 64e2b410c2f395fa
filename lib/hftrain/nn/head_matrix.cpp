#include "hftrain/nn/head_matrix.h"

#include <ATen/ops/empty.h>

#include <vector>

namespace hftrain::nn {
namespace {

at::Tensor with_rows(const at::Tensor& x, int64_t rows) {
  if (x.size(0) == rows) return x;
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[0] = rows;
  at::Tensor padded = at::empty(sizes, x.options());
  padded.narrow(0, 0, x.size(0)).copy_(x);
  padded.narrow(0, x.size(0), rows - x.size(0)).zero_();
  return padded;
}

}  // namespace

int64_t vocabulary_step(const at::Tensor& hidden) {
  constexpr int64_t kOfGpus = 64;
  return hidden.is_cpu() ? 1 : kOfGpus;
}

Head make_head(const at::Tensor& weight, const std::optional<at::Tensor>& bias, Products products,
               int64_t step) {
  const int64_t vocab = weight.size(0), rows = (vocab + step - 1) / step * step;
  return {.weight = with_rows(weight, rows),
          .bias = bias ? std::optional(with_rows(*bias, rows)) : std::nullopt,
          .products = products,
          .vocab = vocab,
          .trains_weight = weight.requires_grad(),
          .trains_bias = bias && bias->requires_grad()};
}

}  // namespace hftrain::nn
