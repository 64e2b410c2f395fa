#include "hftrain/optim/adam.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <vector>

namespace hftrain::optim {

Adam::Adam(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
           OptimizerOptions&)
    : FusedAdam(name, std::move(groups), settings, Decay::kCoupled) {}

void Adam::update(std::vector<Item>& items, double rate, double weight_decay) {
  std::vector<Item*> on_devices;
  for (Item& item : items) {
    if (on_device(item.parameter)) {
      on_devices.push_back(&item);
    } else if (!skipped_on_host(item.parameter)) {
      update_here(item, rate, weight_decay);
    }
  }
  fuse(on_devices, rate, weight_decay);
}

void Adam::update_here(const Item& item, double rate, double weight_decay) {
  at::Tensor gradient = item.gradient;
  if (gradient_factor().defined()) multiply_gradients({gradient}, gradient_factor());
  if (weight_decay != 0) gradient = gradient.add(item.parameter, weight_decay);
  at::Tensor &first = (*item.state)[1], &second = (*item.state)[2];
  const double t = advance((*item.state)[0]);
  first.lerp_(gradient, 1 - beta1_);
  second.mul_(beta2_).addcmul_(gradient, gradient, 1 - beta2_);
  const at::Tensor root = (second.sqrt() / std::sqrt(1 - std::pow(beta2_, t))).add_(epsilon_);
  item.parameter.addcdiv_(first, root, -rate / (1 - std::pow(beta1_, t)));
}

}  // namespace hftrain::optim
