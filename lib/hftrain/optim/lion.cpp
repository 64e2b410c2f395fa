#include "hftrain/optim/lion.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sign.h>

#include <vector>

namespace hftrain::optim {

Lion::Lion(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
           OptimizerOptions&)
    : ListOptimizer(name, std::move(groups)), beta1_(settings.beta1), beta2_(settings.beta2) {
  add_state("step", host_counter);
  add_state("exp_avg", zeros_like);
}

void Lion::update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) {
  gate.clear(lists.gradients);
  const std::vector<at::Tensor>& means = lists.states[0];
  const std::vector<at::Tensor> directions = at::_foreach_mul(means, beta1_);
  at::_foreach_add_(directions, lists.gradients, 1 - beta1_);
  at::_foreach_sign_(directions);
  if (weight_decay != 0) gate.scale(lists.parameters, 1 - rate * weight_decay);
  gate.add(lists.parameters, directions, -rate);
  gate.scale(means, beta2_);
  at::_foreach_add_(means, lists.gradients, 1 - beta2_);
}

}  // namespace hftrain::optim
