// What a schedule and the gradients' norm set for one update.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <utility>

namespace hftrain::optim {

// Decay of the moments of Adam and its kin, and of Lion.
struct Betas {
  double first = 0.9, second = 0.999;

  bool operator==(const Betas&) const = default;
};

struct Pace {
  double rate = 0;             // of learning
  std::optional<Betas> betas;  // unset: the optimizer keeps those it has
  // A float32 scalar that the gradients count times, which clips them and divides by the loss scale; undefined: they count as they are.
  at::Tensor gradient_factor;
  // A float32 scalar on any device: where it is 1 the update changes nothing. For optimizers that say that they
  // look at it (Optimizer::skips_by_tensor); undefined: 0.
  at::Tensor skip;

  // Most schedules set the rate alone.
  // NOLINTNEXTLINE(google-explicit-constructor): a rate is a pace
  Pace(double learning_rate, std::optional<Betas> moments = std::nullopt, at::Tensor factor = {})
      : rate(learning_rate), betas(moments), gradient_factor(std::move(factor)) {}
};

}  // namespace hftrain::optim
