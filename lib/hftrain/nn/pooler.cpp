#include "hftrain/nn/pooler.h"

#include "hftrain/nn/linear.h"

namespace hftrain::nn {

at::Tensor pool_first_token(const at::Tensor& hidden, const Parameter& weight, const at::Tensor& bias,
                            Activation activation) {
  return activate(activation, nn::linear(hidden.select(1, 0), weight, bias), Kernels::kReference);
}

}  // namespace hftrain::nn
