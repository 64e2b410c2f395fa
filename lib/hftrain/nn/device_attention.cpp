#include "hftrain/nn/device_attention.h"

#include <ATen/Context.h>

namespace hftrain::nn {

bool needs_other_kernels(const at::Tensor& query, double dropout, bool masked, bool causal) {
  return !query.is_cpu() && (dropout > 0 || masked || !causal);
}

WithoutCuDnn::WithoutCuDnn(bool needed) : taken_away_(needed && at::globalContext().userEnabledCuDNNSDP()) {
  if (taken_away_) at::globalContext().setSDPUseCuDNN(false);
}

WithoutCuDnn::~WithoutCuDnn() {
  if (taken_away_) at::globalContext().setSDPUseCuDNN(true);
}

at::Tensor heads_for_kernel(const at::Tensor& x, int64_t heads, bool masked) {
  const bool half = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
  if (x.is_cpu() || x.size(1) == heads || (half && !masked)) return x;
  const int64_t each = heads / x.size(1);
  return x.unsqueeze(2)
      .expand({x.size(0), x.size(1), each, x.size(2), x.size(3)})
      .reshape({x.size(0), heads, x.size(2), x.size(3)});
}

}  // namespace hftrain::nn
