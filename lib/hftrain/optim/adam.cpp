#include "hftrain/optim/adam.h"

#include <ATen/TensorOperators.h>

#include <cmath>

namespace hftrain::optim {

Adam::Adam(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
           OptimizerOptions&)
    : StatefulOptimizer(name, std::move(groups)),
      beta1_(settings.beta1),
      beta2_(settings.beta2),
      epsilon_(settings.epsilon) {
  add_state("step", host_counter);
  add_state("exp_avg", zeros_like);
  add_state("exp_avg_sq", zeros_like);
}

void Adam::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    const at::Tensor gradient = with_decay(item, weight_decay);
    at::Tensor &first = (*item.state)[1], &second = (*item.state)[2];
    const double t = advance((*item.state)[0]);
    first.lerp_(gradient, 1 - beta1_);
    second.mul_(beta2_).addcmul_(gradient, gradient, 1 - beta2_);
    const at::Tensor root = (second.sqrt() / std::sqrt(1 - std::pow(beta2_, t))).add_(epsilon_);
    item.parameter.addcdiv_(first, root, -rate / (1 - std::pow(beta1_, t)));
  }
}

}  // namespace hftrain::optim
