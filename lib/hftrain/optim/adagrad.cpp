#include "hftrain/optim/adagrad.h"

#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_sqrt.h>

#include <vector>

namespace hftrain::optim {

Adagrad::Adagrad(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
                 OptimizerOptions& options)
    : ListOptimizer(name, std::move(groups)),
      rate_decay_(options.number("lr_decay", 0.0)),
      epsilon_(options.number("eps", 1e-10)) {
  add_state("step", host_counter);
  add_state("sum", zeros_like);
}

void Adagrad::update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) {
  const std::vector<at::Tensor> gradients = with_decay(lists, gate, weight_decay);
  const std::vector<at::Tensor>& sums = lists.states[0];
  at::_foreach_addcmul_(sums, gradients, gradients);
  const std::vector<at::Tensor> roots = at::_foreach_sqrt(sums);
  gate.add_to_divisors(roots, epsilon_);
  at::_foreach_addcdiv_(lists.parameters, gradients, roots, -rate / (1 + (lists.step - 1) * rate_decay_));
}

}  // namespace hftrain::optim
