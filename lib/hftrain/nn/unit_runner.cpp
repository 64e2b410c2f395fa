#include "hftrain/nn/unit_runner.h"

namespace hftrain::nn {

std::vector<at::Tensor> UnitRunner::run(const Unit&, at::TensorList parameters, at::TensorList inputs,
                                        const UnitFunction& function) {
  return function(parameters, inputs);
}

}  // namespace hftrain::nn
