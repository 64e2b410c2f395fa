#include "hftrain/nn/unit_runner.h"

namespace hftrain::nn {

at::Tensor UnitRunner::run(const Unit&, at::TensorList parameters, const at::Tensor& input,
                           const UnitFunction& function) {
  return function(parameters, input);
}

}  // namespace hftrain::nn
