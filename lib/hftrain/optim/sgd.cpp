#include "hftrain/optim/sgd.h"

#include <ATen/TensorOperators.h>

namespace hftrain::optim {

Sgd::Sgd(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
         OptimizerOptions& options)
    : StatefulOptimizer(name, std::move(groups)),
      momentum_(options.number("momentum", 0.0)),
      dampening_(options.number("dampening", 0.0)),
      nesterov_(options.boolean("nesterov", false)) {
  if (nesterov_ && (momentum_ <= 0 || dampening_ != 0))
    options.fail("nesterov needs momentum and no dampening");
  if (momentum_ == 0) return;
  add_state("step", host_counter);
  add_state("momentum_buffer", zeros_like);
}

void Sgd::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    at::Tensor gradient = with_decay(item, weight_decay);
    if (momentum_ != 0) {
      at::Tensor& buffer = (*item.state)[1];
      if (advance((*item.state)[0]) == 1) {
        buffer.copy_(gradient);
      } else {
        buffer.mul_(momentum_).add_(gradient, 1 - dampening_);
      }
      gradient = nesterov_ ? gradient.add(buffer, momentum_) : buffer;
    }
    item.parameter.add_(gradient, -rate);
  }
}

}  // namespace hftrain::optim
