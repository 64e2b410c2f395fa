#include "hftrain/optim/rmsprop.h"

#include <ATen/TensorOperators.h>

namespace hftrain::optim {

Rmsprop::Rmsprop(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
                 OptimizerOptions& options)
    : StatefulOptimizer(name, std::move(groups)),
      momentum_(options.number("momentum", 0.0)),
      alpha_(options.number("alpha", 0.99)),
      epsilon_(options.number("eps", 1e-8)),
      centered_(options.boolean("centered", false)) {
  add_state("step", host_counter);
  add_state("square_avg", zeros_like);
  if (momentum_ > 0) add_state("momentum_buffer", zeros_like);
  if (centered_) add_state("grad_avg", zeros_like);
}

void Rmsprop::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    const at::Tensor gradient = with_decay(item, weight_decay);
    advance((*item.state)[0]);
    at::Tensor& square = (*item.state)[1];
    square.mul_(alpha_).addcmul_(gradient, gradient, 1 - alpha_);
    at::Tensor average = square;
    if (centered_) {
      at::Tensor& mean = item.state->back();
      mean.lerp_(gradient, 1 - alpha_);
      average = square.addcmul(mean, mean, -1);
    }
    const at::Tensor root = average.sqrt().add_(epsilon_);
    if (momentum_ > 0) {
      at::Tensor& buffer = (*item.state)[2];
      buffer.mul_(momentum_).addcdiv_(gradient, root);
      item.parameter.add_(buffer, -rate);
    } else {
      item.parameter.addcdiv_(gradient, root, -rate);
    }
  }
}

}  // namespace hftrain::optim
