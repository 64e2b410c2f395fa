#include "hftrain/models/gemma_model.h"

#include <ATen/TensorOperators.h>

#include <cmath>

#include "hftrain/nn/norm.h"

namespace hftrain::models {

double GemmaModel::embedding_scale() const {
  return std::sqrt(static_cast<double>(config().hidden_size));
}

// In float32 up to the end, whatever the compute dtype.
at::Tensor GemmaModel::norm(const at::Tensor& x, const at::Tensor& weight) const {
  const at::Tensor factor = weight.to(at::kFloat) + 1;
  return nn::rms_norm(x.to(at::kFloat), factor, config().rms_norm_eps, options().kernels.rms_norm)
      .to(x.scalar_type());
}

}  // namespace hftrain::models
