// The cross-entropy of some rows of logits and its gradient, of ATen's operators: where a device has no kernel for them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace hftrain::nn {

// What of LossOptions (loss.h) the rows need.
struct RowLoss {
  double smoothing = 0;
  bool by_probability = false;
  bool own_kernel = true;  // where there is one
};

// The sum of the losses of `logits` [n, ≥ V], of which the first V columns count and the others are lost; targets int64 [n]. Of half
// types it is summed in float32, as the result is. With `gradient` [n, as many columns], which may be `logits`, that becomes
// scale·(the gradient of the logits), zeros behind the vocabulary; `scale` is a scalar of the accumulation's dtype.
at::Tensor composed_rows(const at::Tensor& logits, int64_t vocab, const at::Tensor& targets,
                         const at::Tensor& scale, const RowLoss& kind, at::Tensor gradient);

}  // namespace hftrain::nn
