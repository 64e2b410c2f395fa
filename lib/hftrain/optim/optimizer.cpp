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

void Optimizer::visit_state(const StateVisitor& visitor, Access /*access*/) {
  each_state(visitor);
}

int64_t Optimizer::state_bytes() const {
  int64_t bytes = 0;
  each_state([&](size_t, const std::string&, const at::Tensor& tensor) {
    bytes += static_cast<int64_t>(tensor.nbytes());
  });
  return bytes;
}

void Optimizer::each_state(const StateVisitor& visitor) const {
  const size_t count = parameters().size();
  for (size_t index = 0; index < count; ++index) {
    for (const std::string& each : state_names()) {
      const at::Tensor tensor = state(index, each);
      if (tensor.defined()) visitor(index, each, tensor);
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
