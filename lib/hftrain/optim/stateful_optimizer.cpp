#include "hftrain/optim/stateful_optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "hftrain/base/error.h"

namespace hftrain::optim {

void StatefulOptimizer::add_state(const std::string& state_name, StateMaker make) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> all = parameters();
  state_.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i) state_[i].push_back(make(all[i]));
  names_.push_back(state_name);
}

at::Tensor StatefulOptimizer::state(size_t index, const std::string& state_name) const {
  const auto found = std::find(names_.begin(), names_.end(), state_name);
  if (found == names_.end() || index >= state_.size()) {
    throw Error(ExitCode::kInternal, "optimizer " + name() + " has no state \"" + state_name +
                                         "\" of parameter " + std::to_string(index));
  }
  return state_[index][static_cast<size_t>(found - names_.begin())];
}

void StatefulOptimizer::set_betas(const Betas&) {
  throw Error(ExitCode::kInternal, "optimizer " + name() + " has no betas to set");
}

void StatefulOptimizer::step(const Pace& pace) {
  const at::NoGradGuard no_grad;
  if (pace.betas) set_betas(*pace.betas);
  factor_ = pace.gradient_factor;
  skip_ = pace.skip;
  advanced_.clear();
  if (reads_on_host()) {  // once for all parameters: each look at a number of a device is a wait
    if (skip_.defined()) skip_ = skip_.cpu();
    if (factor_.defined()) factor_ = factor_.cpu();
  }
  size_t index = 0;
  for (const ParameterGroup& group : groups()) {
    std::vector<Item> items;
    for (const at::Tensor& parameter : group.parameters) {
      if (parameter.grad().defined())
        items.push_back({parameter, parameter.grad(), names_.empty() ? nullptr : &state_[index]});
      ++index;
    }
    if (items.empty()) continue;
    if (factor_.defined() && !applies_factor()) multiply_gradients(gradients_of(items), factor_);
    update(items, pace.rate, group.weight_decay);
  }
}

std::vector<at::Tensor> StatefulOptimizer::gradients_of(const std::vector<Item>& items) {
  std::vector<at::Tensor> gradients;
  for (const Item& item : items) gradients.push_back(item.gradient);
  return gradients;
}

void StatefulOptimizer::multiply_gradients(const std::vector<at::Tensor>& gradients,
                                           const at::Tensor& factor) {
  at::_foreach_mul_(gradients, factor.to(gradients.front().device()));
}

void StatefulOptimizer::was_skipped() {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& step : advanced_) step.sub_(1);
  advanced_.clear();
}

bool StatefulOptimizer::reads_on_host() const {
  const auto is_read = [&](const at::Tensor& parameter) {
    return !on_device(parameter) && parameter.grad().defined();
  };
  return std::ranges::any_of(
      groups(), [&](const ParameterGroup& group) { return std::ranges::any_of(group.parameters, is_read); });
}

bool StatefulOptimizer::skipped_on_host(const at::Tensor& parameter) const {
  return !on_device(parameter) && skip_.defined() && skip_.item<float>() != 0;
}

at::Tensor StatefulOptimizer::skip_beside(const at::Tensor& parameter) const {
  return skip_.defined() && on_device(parameter) ? skip_.to(parameter.device()) : at::Tensor();
}

double StatefulOptimizer::advance(const at::Tensor& step) {
  advanced_.push_back(step);
  return step.add_(1).item<double>();
}

at::Tensor StatefulOptimizer::zeros_like(const at::Tensor& parameter) {
  return at::zeros_like(parameter, at::MemoryFormat::Preserve);
}

at::Tensor StatefulOptimizer::host_counter(const at::Tensor&) {
  return at::zeros({}, at::kFloat);
}

at::Tensor StatefulOptimizer::step_counter(const at::Tensor& parameter) {
  return at::zeros({}, at::TensorOptions().dtype(at::kFloat).device(parameter.device()));
}

}  // namespace hftrain::optim
