#include "hftrain/optim/optimizer.h"

#include <ATen/core/grad_mode.h>

namespace hftrain::optim {

Optimizer::Optimizer(std::string name, std::vector<ParameterGroup> groups)
    : name_(std::move(name)), groups_(std::move(groups)) {}

void Optimizer::zero_grad(bool to_none) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& parameter : parameters()) {
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined()) continue;
    if (to_none) {
      gradient.reset();
    } else {
      gradient.zero_();
    }
  }
}

std::vector<at::Tensor> Optimizer::parameters() const {
  std::vector<at::Tensor> all;
  for (const ParameterGroup& group : groups_)
    all.insert(all.end(), group.parameters.begin(), group.parameters.end());
  return all;
}

}  // namespace hftrain::optim
