#include "hftrain/optim/lion.h"

#include <ATen/TensorOperators.h>

namespace hftrain::optim {

Lion::Lion(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
           OptimizerOptions&)
    : StatefulOptimizer(name, std::move(groups)), beta1_(settings.beta1), beta2_(settings.beta2) {
  add_state("step", host_counter);
  add_state("exp_avg", zeros_like);
}

void Lion::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    advance((*item.state)[0]);
    at::Tensor& mean = (*item.state)[1];
    const at::Tensor direction = (mean * beta1_).add_(item.gradient, 1 - beta1_).sign_();
    item.parameter.mul_(1 - rate * weight_decay).add_(direction, -rate);
    mean.mul_(beta2_).add_(item.gradient, 1 - beta2_);
  }
}

}  // namespace hftrain::optim
