#include "hftrain/optim/adagrad.h"

#include <ATen/TensorOperators.h>

namespace hftrain::optim {

Adagrad::Adagrad(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
                 OptimizerOptions& options)
    : StatefulOptimizer(name, std::move(groups)),
      rate_decay_(options.number("lr_decay", 0.0)),
      epsilon_(options.number("eps", 1e-10)) {
  add_state("step", host_counter);
  add_state("sum", zeros_like);
}

void Adagrad::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    const at::Tensor gradient = with_decay(item, weight_decay);
    const double step = advance((*item.state)[0]);
    at::Tensor& sum = (*item.state)[1];
    sum.addcmul_(gradient, gradient);
    item.parameter.addcdiv_(gradient, sum.sqrt().add_(epsilon_), -rate / (1 + (step - 1) * rate_decay_));
  }
}

}  // namespace hftrain::optim
