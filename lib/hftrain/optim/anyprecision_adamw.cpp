#include "hftrain/optim/anyprecision_adamw.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <vector>

namespace hftrain::optim {
namespace {

template <at::ScalarType kType>
at::Tensor zeros_of(const at::Tensor& parameter) {
  return at::zeros_like(parameter, parameter.options().dtype(kType).requires_grad(false));
}

auto maker(OptimizerOptions& options, const std::string& key, const std::string& otherwise) {
  const std::string type = options.text(key, otherwise);
  if (type == "float32") return &zeros_of<at::kFloat>;
  if (type == "bfloat16") return &zeros_of<at::kBFloat16>;
  if (type == "float16") return &zeros_of<at::kHalf>;
  options.fail(key + "=" + type + " is none of float32, bfloat16, float16");
}

}  // namespace

AnyprecisionAdamW::AnyprecisionAdamW(const std::string& name, std::vector<ParameterGroup> groups,
                                     const OptimizerSettings& settings, OptimizerOptions& options)
    : ListOptimizer(name, std::move(groups)),
      beta1_(settings.beta1),
      beta2_(settings.beta2),
      epsilon_(settings.epsilon),
      kahan_(options.boolean("use_kahan_summation", false)) {
  add_state("step", host_counter);
  add_state("exp_avg", maker(options, "momentum_dtype", "float32"));
  add_state("exp_avg_sq", maker(options, "variance_dtype", "float32"));
  const auto compensation = maker(options, "compensation_buffer_dtype", "bfloat16");
  if (kahan_) add_state("compensation", compensation);
}

void AnyprecisionAdamW::update_lists(const Lists& lists, const Gate& gate, double rate, double weight_decay) {
  gate.clear(lists.gradients);
  const std::vector<at::Tensor>&first = lists.states[0], &second = lists.states[1];
  if (weight_decay != 0) gate.scale(lists.parameters, 1 - rate * weight_decay);
  gate.scale(first, beta1_);
  at::_foreach_add_(first, lists.gradients, 1 - beta1_);
  gate.scale(second, beta2_);
  at::_foreach_addcmul_(second, lists.gradients, lists.gradients, 1 - beta2_);
  const std::vector<at::Tensor> roots = at::_foreach_sqrt(second);
  at::_foreach_div_(roots, std::sqrt(1 - std::pow(beta2_, lists.step)));
  gate.add_to_divisors(roots, epsilon_);
  const double size = -rate / (1 - std::pow(beta1_, lists.step));
  if (!kahan_) {
    at::_foreach_addcdiv_(lists.parameters, first, roots, size);
    return;
  }
  at::_foreach_addcdiv_(lists.states[2], first, roots, size);
  add_compensated(lists.parameters, lists.states[2], gate);
}

void AnyprecisionAdamW::add_compensated(const std::vector<at::Tensor>& parameters,
                                        const std::vector<at::Tensor>& compensation, const Gate& gate) {
  const std::vector<at::Tensor> lost = at::_foreach_mul(parameters, 1);  // what they are before
  at::_foreach_add_(parameters, gate.counted(compensation));
  at::_foreach_sub_(lost, parameters);
  at::_foreach_add_(compensation, lost);
}

}  // namespace hftrain::optim
