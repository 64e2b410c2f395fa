#include "hftrain/optim/adamw.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adamw.h>

namespace hftrain::optim {

AdamW::AdamW(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings& settings,
             OptimizerOptions&)
    : StatefulOptimizer(name, std::move(groups)),
      beta1_(settings.beta1),
      beta2_(settings.beta2),
      epsilon_(settings.epsilon) {
  add_state("step", step_counter);
  add_state("exp_avg", zeros_like);
  add_state("exp_avg_sq", zeros_like);
}

void AdamW::update(std::vector<Item>& items, double rate, double weight_decay) {
  std::vector<at::Tensor> parameters, gradients, steps, first, second;
  for (Item& item : items) {
    parameters.push_back(item.parameter);
    gradients.push_back(item.gradient);
    steps.push_back((*item.state)[0]);
    first.push_back((*item.state)[1]);
    second.push_back((*item.state)[2]);
  }
  at::_foreach_add_(steps, 1);  // the fused kernel reads the count and leaves it
  at::_fused_adamw_(parameters, gradients, first, second, {}, steps, rate, beta1_, beta2_, weight_decay,
                    epsilon_,
                    /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace hftrain::optim
