#include "hftrain/optim/rmsprop.h"

#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include <vector>

namespace hftrain::optim {

Rmsprop::Rmsprop(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
                 OptimizerOptions& options)
    : ListOptimizer(name, std::move(groups)),
      momentum_(options.number("momentum", 0.0)),
      alpha_(options.number("alpha", 0.99)),
      epsilon_(options.number("eps", 1e-8)),
      centered_(options.boolean("centered", false)) {
  add_state("step", host_counter);
  add_state("square_avg", zeros_like);
  if (momentum_ > 0) add_state("momentum_buffer", zeros_like);
  if (centered_) add_state("grad_avg", zeros_like);
}

void Rmsprop::update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) {
  const std::vector<at::Tensor> gradients = with_decay(lists, gate, weight_decay);
  const std::vector<at::Tensor> roots = roots_of(lists, gate, gradients);
  gate.add_to_divisors(roots, epsilon_);
  if (momentum_ > 0) {
    const std::vector<at::Tensor>& buffers = lists.states[1];
    gate.scale(buffers, momentum_);
    at::_foreach_addcdiv_(buffers, gradients, roots);
    gate.add(lists.parameters, buffers, -rate);
  } else {
    at::_foreach_addcdiv_(lists.parameters, gradients, roots, -rate);
  }
}

std::vector<at::Tensor> Rmsprop::roots_of(const Lists& lists, const Gate& gate,
                                          const std::vector<at::Tensor>& gradients) const {
  const std::vector<at::Tensor>& squares = lists.states[0];
  gate.scale(squares, alpha_);
  at::_foreach_addcmul_(squares, gradients, gradients, 1 - alpha_);
  if (!centered_) return at::_foreach_sqrt(squares);
  const std::vector<at::Tensor>& means = lists.states.back();
  gate.mix(means, gradients, 1 - alpha_);
  std::vector<at::Tensor> variances = at::_foreach_addcmul(squares, means, means, -1);
  at::_foreach_sqrt_(variances);
  return variances;
}

}  // namespace hftrain::optim
