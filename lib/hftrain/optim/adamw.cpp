#include "hftrain/optim/adamw.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "hftrain/optim/cpu/elementwise.h"

namespace hftrain::optim {
namespace {

constexpr int64_t kGrain = 1 << 15;  // numbers, at least, that a thread is started for

bool plain(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.is_contiguous();
}

}  // namespace

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
  std::vector<Item*> here;
  // LibTorch's kernel takes tensors of one type and one device; an adapter in float32 may train beside a head in bfloat16.
  std::map<std::pair<c10::DeviceType, at::ScalarType>, std::vector<Item*>> others;
  for (Item& item : items) {
    const at::Tensor& parameter = item.parameter;
    const bool ours = plain(parameter) && plain(item.gradient);
    (ours ? here : others[{parameter.device().type(), parameter.scalar_type()}]).push_back(&item);
  }
  if (!here.empty()) sweep_all(here, rate, weight_decay);
  for (const auto& [kind, alike] : others) fused(alike, rate, weight_decay);
}

std::vector<at::Tensor> AdamW::counters_of(const std::vector<Item*>& items) {
  std::vector<at::Tensor> steps;
  for (const Item* item : items) steps.push_back((*item->state)[0]);
  return steps;
}

// On the host, where reading a number waits for nobody.
void AdamW::sweep_all(const std::vector<Item*>& items, double rate, double weight_decay) const {
  if (skip().defined() && skip().item<float>() != 0) return;
  const float factor = gradient_factor().defined() ? gradient_factor().item<float>() : 1.0F;
  at::_foreach_add_(counters_of(items), 1);
  for (Item* item : items) sweep(*item, rate, weight_decay, factor);
}

// LibTorch's kernel does not count.
void AdamW::fused(const std::vector<Item*>& items, double rate, double weight_decay) const {
  std::vector<at::Tensor> parameters, gradients, first, second;
  for (const Item* item : items) {
    parameters.push_back(item->parameter);
    gradients.push_back(item->gradient);
    first.push_back((*item->state)[1]);
    second.push_back((*item->state)[2]);
  }
  const std::vector<at::Tensor> steps = counters_of(items);
  // The norm that says so may have been taken elsewhere: gradients that come to the host are added up before they do.
  const at::Tensor skips = skip().defined() ? skip().to(parameters.front().device()) : at::Tensor();
  at::_foreach_add_(steps, 1);
  if (gradient_factor().defined()) multiply_gradients(gradients, gradient_factor());
  at::_fused_adamw_(parameters, gradients, first, second, {}, steps, rate, beta1_, beta2_, weight_decay,
                    epsilon_, /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{},
                    skips.defined() ? std::optional<at::Tensor>(skips) : std::nullopt);
  if (skips.defined()) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), skips));
}

// LibTorch's kernel rounds an element differently at the end of a tensor than in its middle; ours rounds all
// as in the middle there, so that shards get the very bits of whole parameters.
void AdamW::sweep(Item& item, double rate, double weight_decay, float factor) const {
  const double t = (*item.state)[0].item<double>();
  const cpu::AdamWStep step{.factor = factor,
                            .decay = static_cast<float>(1 - rate * weight_decay),
                            .rest1 = static_cast<float>(1 - beta1_),
                            .beta2 = static_cast<float>(beta2_),
                            .rest2 = static_cast<float>(1 - beta2_),
                            .step_size = static_cast<float>(rate / (1 - std::pow(beta1_, t))),
                            .root_scale = static_cast<float>(std::sqrt(1 - std::pow(beta2_, t))),
                            .epsilon = static_cast<float>(epsilon_)};
  float* parameter = item.parameter.mutable_data_ptr<float>();
  const float* gradient = item.gradient.const_data_ptr<float>();
  float* first = (*item.state)[1].mutable_data_ptr<float>();
  float* second = (*item.state)[2].mutable_data_ptr<float>();
  at::parallel_for(0, item.parameter.numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu::adamw(step, parameter + begin, gradient + begin, first + begin, second + begin, end - begin);
  });
}

}  // namespace hftrain::optim
