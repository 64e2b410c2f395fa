#include "hftrain/optim/gradient_scaler.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "hftrain/base/error.h"

namespace hftrain::optim {
namespace {

constexpr double kGrowth = 2.0, kBackoff = 0.5;

}  // namespace

GradientScaler::GradientScaler(const LossScale& rule, at::Device device)
    : rule_(rule),
      device_(device),
      scale_(scalar(rule.initial)),
      good_updates_(scalar(0)),
      tolerance_(scalar(static_cast<double>(rule.hysteresis))) {}

at::Tensor GradientScaler::scalar(double value) const {
  return at::full({}, value, at::TensorOptions(device_).dtype(at::kDouble));
}

at::Tensor GradientScaler::scale() const {
  return scale_.to(at::kFloat);
}

// `where` in the place of `if`: the device decides.
at::Tensor GradientScaler::update(const at::Tensor& overflow) {
  const at::NoGradGuard no_grad;
  if (!rule_.dynamic) return at::zeros_like(overflow);
  const at::Tensor whole = scalar(static_cast<double>(rule_.hysteresis));
  const at::Tensor left = at::where(overflow, tolerance_ - 1, rule_.refill ? whole : tolerance_);
  const at::Tensor shrinks = overflow.logical_and(left <= 0);
  const at::Tensor stuck = shrinks.logical_and(scale_ <= rule_.minimum);
  const at::Tensor good = (good_updates_ + 1) * overflow.logical_not();
  const at::Tensor grows = good >= rule_.growth_interval;
  scale_ =
      at::where(shrinks, (scale_ * kBackoff).clamp_min(rule_.minimum), scale_) * (1 + grows * (kGrowth - 1));
  good_updates_ = good * grows.logical_not();
  tolerance_ = at::where(grows, whole, left.clamp_min(1));
  return stuck;
}

void GradientScaler::refuse_scale() const {
  throw Error(ExitCode::kDiverged, "the loss scale is at its minimum and gradients still overflow")
      .where("loss scale " + std::to_string(scale_.item<double>()))
      .why("no scale is small enough for float16 here")
      .hint("--bf16, a lower --learning_rate, or a smaller min_loss_scale");
}

Json GradientScaler::state() const {
  return {{"scale", scale_.item<double>()},
          {"good_updates", good_updates_.to(at::kLong).item<int64_t>()},
          {"tolerance", tolerance_.to(at::kLong).item<int64_t>()}};
}

void GradientScaler::load_state(const Json& state) {
  good_updates_ = scalar(state.at("good_updates").get<double>());
  tolerance_ = scalar(state.value("tolerance", static_cast<double>(rule_.hysteresis)));
  if (rule_.dynamic) scale_ = scalar(state.at("scale").get<double>());  // a fixed scale is this run's own
}

}  // namespace hftrain::optim
