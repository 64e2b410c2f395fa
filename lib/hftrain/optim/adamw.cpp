#include "hftrain/optim/adamw.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_foreach_add.h>

#include <cmath>
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
    : FusedAdam(name, std::move(groups), settings, Decay::kDecoupled) {}

void AdamW::update(std::vector<Item>& items, double rate, double weight_decay) {
  std::vector<Item*> here, others;
  for (Item& item : items) {
    const bool ours = !on_device(item.parameter) && plain(item.parameter) && plain(item.gradient);
    (ours ? here : others).push_back(&item);
  }
  if (!here.empty()) sweep_all(here, rate, weight_decay);
  fuse(others, rate, weight_decay);
}

// On the host, where reading a number waits for nobody.
void AdamW::sweep_all(const std::vector<Item*>& items, double rate, double weight_decay) const {
  if (skipped_on_host(items.front()->parameter)) return;
  std::vector<at::Tensor> steps;
  for (const Item* item : items) steps.push_back((*item->state)[0]);
  const float factor = gradient_factor().defined() ? gradient_factor().item<float>() : 1.0F;
  at::_foreach_add_(steps, 1);
  for (Item* item : items) sweep(*item, rate, weight_decay, factor);
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
