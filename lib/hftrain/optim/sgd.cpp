#include "hftrain/optim/sgd.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>

#include <vector>

namespace hftrain::optim {

Sgd::Sgd(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
         OptimizerOptions& options)
    : ListOptimizer(name, std::move(groups)),
      momentum_(options.number("momentum", 0.0)),
      dampening_(options.number("dampening", 0.0)),
      nesterov_(options.boolean("nesterov", false)) {
  if (nesterov_ && (momentum_ <= 0 || dampening_ != 0))
    options.fail("nesterov needs momentum and no dampening");
  if (momentum_ == 0) return;
  add_state("step", host_counter);
  add_state("momentum_buffer", zeros_like);
}

void Sgd::update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) {
  const std::vector<at::Tensor> gradients = with_decay(lists, gate, weight_decay);
  if (momentum_ == 0) {
    at::_foreach_add_(lists.parameters, gradients, -rate);
    return;
  }
  const std::vector<at::Tensor>& buffers = lists.states[0];
  if (lists.step == 1) {
    at::_foreach_copy_(buffers, gradients);  // zeros, as they were, where the gate is shut
  } else {
    gate.scale(buffers, momentum_);
    at::_foreach_add_(buffers, gradients, 1 - dampening_);
  }
  gate.add(lists.parameters, nesterov_ ? at::_foreach_add(gradients, buffers, momentum_) : buffers, -rate);
}

}  // namespace hftrain::optim
