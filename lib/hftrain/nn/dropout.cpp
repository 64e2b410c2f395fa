#include "hftrain/nn/dropout.h"

#include <ATen/ops/dropout.h>

namespace hftrain::nn {

at::Tensor dropout(const at::Tensor& x, double p) {
  return p == 0 ? x : at::dropout(x, p, /*train=*/true);
}

}  // namespace hftrain::nn
