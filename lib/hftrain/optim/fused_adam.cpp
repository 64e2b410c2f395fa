#include "hftrain/optim/fused_adam.h"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>

#include <map>
#include <optional>
#include <utility>

namespace hftrain::optim {
namespace {

using Kernel = void (*)(at::TensorList, at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                        at::TensorList, double, double, double, double, double, bool, bool,
                        const std::optional<at::Tensor>&, const std::optional<at::Tensor>&);

}  // namespace

FusedAdam::FusedAdam(const std::string& name, std::vector<ParameterGroup> groups,
                     const OptimizerSettings& settings, Decay decay)
    : StatefulOptimizer(name, std::move(groups)),
      beta1_(settings.beta1),
      beta2_(settings.beta2),
      epsilon_(settings.epsilon),
      decay_(decay) {
  add_state("step", step_counter);
  add_state("exp_avg", zeros_like);
  add_state("exp_avg_sq", zeros_like);
}

void FusedAdam::fuse(const std::vector<Item*>& items, double rate, double weight_decay) const {
  // LibTorch's kernel takes tensors of one type and one device; an adapter in float32 may train beside a head in bfloat16.
  std::map<std::pair<c10::DeviceType, at::ScalarType>, std::vector<Item*>> kinds;
  for (Item* item : items)
    kinds[{item->parameter.device().type(), item->parameter.scalar_type()}].push_back(item);
  for (const auto& [kind, alike] : kinds) fuse_alike(alike, rate, weight_decay);
}

// LibTorch's kernel does not count.
void FusedAdam::fuse_alike(const std::vector<Item*>& items, double rate, double weight_decay) const {
  std::vector<at::Tensor> parameters, gradients, steps, first, second;
  for (const Item* item : items) {
    parameters.push_back(item->parameter);
    gradients.push_back(item->gradient);
    steps.push_back((*item->state)[0]);
    first.push_back((*item->state)[1]);
    second.push_back((*item->state)[2]);
  }
  // The norm that says so may have been taken elsewhere: gradients that come to the host are added up before they do.
  std::optional<at::Tensor> skips;
  if (skip().defined()) skips = skip().to(parameters.front().device());
  at::_foreach_add_(steps, 1);
  const std::optional<at::Tensor> divisor = divisor_of(gradients, parameters.front());
  const auto kernel = decay_ == Decay::kCoupled ? static_cast<Kernel>(at::_fused_adam_)
                                                : static_cast<Kernel>(at::_fused_adamw_);
  kernel(parameters, gradients, first, second, {}, steps, rate, beta1_, beta2_, weight_decay, epsilon_,
         /*amsgrad=*/false, /*maximize=*/false, divisor, skips);
  if (skips) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), *skips));
}

// A pass over a device's gradients is saved for one rounding more, of the divisor. Of a factor that is 0 the divisor is no number; the
// norm was none then, and the update is skipped.
std::optional<at::Tensor> FusedAdam::divisor_of(const std::vector<at::Tensor>& gradients,
                                                const at::Tensor& parameter) const {
  const at::Tensor& factor = gradient_factor();
  if (!factor.defined()) return std::nullopt;
  if (on_device(parameter)) return factor.to(parameter.device(), at::kFloat).reciprocal();
  multiply_gradients(gradients, factor);
  return std::nullopt;
}

}  // namespace hftrain::optim
