#include "hftrain/optim/adafactor.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>
#include <vector>

#include "hftrain/optim/gate.h"

namespace hftrain::optim {
namespace {

constexpr double kDecayRate = -0.8, kEpsilon = 1e-30, kClipThreshold = 1.0;

// Zeros with one dimension of the parameter left out; undefined for vectors and scalars.
at::Tensor without_dim(const at::Tensor& parameter, int64_t from_end) {
  if (parameter.dim() < 2) return {};
  std::vector<int64_t> shape = parameter.sizes().vec();
  shape.erase(shape.end() - from_end);
  return at::zeros(shape, parameter.options().requires_grad(false));
}

at::Tensor row_state(const at::Tensor& parameter) {
  return without_dim(parameter, 1);
}
at::Tensor column_state(const at::Tensor& parameter) {
  return without_dim(parameter, 2);
}
at::Tensor full_state(const at::Tensor& parameter) {
  if (parameter.dim() >= 2) return {};
  return at::zeros(parameter.sizes(), parameter.options().requires_grad(false));
}

}  // namespace

Adafactor::Adafactor(const std::string& name, std::vector<ParameterGroup> groups, const OptimizerSettings&,
                     OptimizerOptions&)
    : StatefulOptimizer(name, std::move(groups)) {
  add_state("step", host_counter);
  add_state("exp_avg_sq_row", row_state);
  add_state("exp_avg_sq_col", column_state);
  add_state("exp_avg_sq", full_state);
}

at::Tensor Adafactor::direction(const Item& item, double beta) {
  at::Tensor squares = (item.gradient * item.gradient).add_(kEpsilon);
  const at::Tensor full = (*item.state)[3];
  if (full.defined()) return full.mul_(beta).add_(squares, 1 - beta).rsqrt() * item.gradient;
  const at::Tensor row = (*item.state)[1], column = (*item.state)[2];
  row.mul_(beta).add_(squares.mean(-1), 1 - beta);
  column.mul_(beta).add_(squares.mean(-2), 1 - beta);
  squares.reset();  // as large as the parameter, and so is what comes now
  const at::Tensor row_factor = (row / row.mean(-1, true)).rsqrt_().unsqueeze(-1);
  return (row_factor * column.unsqueeze(-2).rsqrt()).mul_(item.gradient);
}

void Adafactor::update_one(const Item& item, double rate, double weight_decay) {
  const double beta = 1.0 - std::pow(advance((*item.state)[0]), kDecayRate);
  at::Tensor step = direction(item, beta);
  const at::Tensor rms = step.norm() / std::sqrt(static_cast<double>(step.numel()));
  step.div_((rms / kClipThreshold).clamp_min_(1.0)).mul_(rate);
  if (weight_decay != 0) item.parameter.mul_(1 - weight_decay * rate);
  item.parameter.sub_(step);
}

void Adafactor::update(std::vector<Item>& items, double rate, double weight_decay) {
  for (const Item& item : items) {
    if (skipped_on_host(item.parameter)) continue;
    const at::Tensor skips = skip_beside(item.parameter);
    std::vector<at::Tensor> changed;
    if (skips.defined()) changed = {item.parameter};
    for (size_t i = 1; skips.defined() && i < item.state->size(); ++i) {
      if ((*item.state)[i].defined()) changed.push_back((*item.state)[i]);
    }
    const Snapshot before(std::move(changed));
    update_one(item, rate, weight_decay);
    if (skips.defined()) before.restore(skips);
  }
}

}  // namespace hftrain::optim
