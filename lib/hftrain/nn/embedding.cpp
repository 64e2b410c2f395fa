#include "hftrain/nn/embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

#include "hftrain/base/error.h"

namespace hftrain::nn {

at::Tensor embed_tokens(const at::Tensor& table, const at::Tensor& ids) {
  return at::embedding(table, ids);
}

at::Tensor add_positions(const at::Tensor& x, const at::Tensor& table) {
  const int64_t length = x.size(1);
  if (length > table.size(0)) {
    throw Error(ExitCode::kData,
                "a sequence of " + std::to_string(length) + " tokens is too long for the model")
        .why("it has " + std::to_string(table.size(0)) + " positions")
        .hint("choose a smaller --block_size");
  }
  return x + table.narrow(0, 0, length);
}

at::Tensor add_neftune_noise(const at::Tensor& x, double alpha) {
  const double bound = alpha / std::sqrt(static_cast<double>(x.size(1) * x.size(2)));
  return x + at::empty_like(x).uniform_(-bound, bound);
}

}  // namespace hftrain::nn
