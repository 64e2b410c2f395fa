#include "hftrain/optim/anyprecision_adamw.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>

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
    : StatefulOptimizer(name, std::move(groups)),
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

void AnyprecisionAdamW::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (Item& item : items) {
    const double step = advance((*item.state)[0]);
    at::Tensor &first = (*item.state)[1], &second = (*item.state)[2];
    item.parameter.mul_(1 - rate * weight_decay);
    first.mul_(beta1_).add_(item.gradient, 1 - beta1_);
    second.mul_(beta2_).addcmul_(item.gradient, item.gradient, 1 - beta2_);
    const at::Tensor root = second.sqrt().div_(std::sqrt(1 - std::pow(beta2_, step))).add_(epsilon_);
    const double size = -rate / (1 - std::pow(beta1_, step));
    if (!kahan_) {
      item.parameter.addcdiv_(first, root, size);
      continue;
    }
    at::Tensor& compensation = (*item.state)[3];
    compensation.addcdiv_(first, root, size);
    const at::Tensor before = item.parameter.clone();
    item.parameter.add_(compensation);
    compensation.add_(before.sub_(item.parameter));
  }
}

}  // namespace hftrain::optim
