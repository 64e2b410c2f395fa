#include "hftrain/optim/gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "hftrain/base/error.h"
#include "hftrain/optim/gradient_norm.h"

namespace hftrain::optim {
namespace {

constexpr double kGrowth = 2.0, kBackoff = 0.5;

std::vector<at::Tensor> gradients_of(at::TensorList parameters) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  return gradients;
}

}  // namespace

at::Tensor gradient_norm(at::TensorList parameters) {
  const at::NoGradGuard no_grad;
  const at::Device device = parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
  return squared_gradient_norm(parameters, device).sqrt().to(at::kFloat);
}

at::Tensor clip_factor(const at::Tensor& norm, double max_norm) {
  const at::NoGradGuard no_grad;
  return (max_norm / (norm + 1e-6)).clamp_max(1.0);
}

bool GradientScaler::unscale(at::TensorList parameters) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  overflow_ = false;
  if (gradients.empty()) return false;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(gradients.front().device());
  at::Tensor found = at::zeros({1}, options);
  const at::Tensor inverse = at::zeros({1}, options).fill_(1.0 / scale_);
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse);
  overflow_ = found.item<float>() != 0;
  return overflow_;
}

void GradientScaler::update() {
  if (rule_.dynamic) overflow_ ? shrink() : grow();
  overflow_ = false;
}

void GradientScaler::shrink() {
  good_updates_ = 0;
  if (--tolerance_ > 0) return;
  tolerance_ = 1;
  if (scale_ > rule_.minimum) {
    scale_ = std::max(scale_ * kBackoff, rule_.minimum);
    return;
  }
  throw Error(ExitCode::kDiverged, "the loss scale is at its minimum and gradients still overflow")
      .where("loss scale " + std::to_string(scale_))
      .why("no scale is small enough for float16 here")
      .hint("--bf16, a lower --learning_rate, or a smaller min_loss_scale");
}

void GradientScaler::grow() {
  if (rule_.refill) tolerance_ = rule_.hysteresis;
  if (++good_updates_ < rule_.growth_interval) return;
  good_updates_ = 0;
  tolerance_ = rule_.hysteresis;
  scale_ *= kGrowth;
}

Json GradientScaler::state() const {
  return {{"scale", scale_}, {"good_updates", good_updates_}, {"tolerance", tolerance_}};
}

void GradientScaler::load_state(const Json& state) {
  good_updates_ = state.at("good_updates").get<int64_t>();
  tolerance_ = state.value("tolerance", rule_.hysteresis);
  if (rule_.dynamic) scale_ = state.at("scale").get<double>();  // a fixed scale is this run's own
}

}  // namespace hftrain::optim
