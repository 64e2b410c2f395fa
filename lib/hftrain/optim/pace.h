// What a schedule sets for one update.
#pragma once

#include <optional>

namespace hftrain::optim {

// Decay of the moments of Adam and its kin, and of Lion.
struct Betas {
  double first = 0.9, second = 0.999;

  bool operator==(const Betas&) const = default;
};

struct Pace {
  double rate = 0;             // of learning
  std::optional<Betas> betas;  // unset: the optimizer keeps those it has

  // Most schedules set the rate alone.
  // NOLINTNEXTLINE(google-explicit-constructor): a rate is a pace
  Pace(double learning_rate, std::optional<Betas> moments = std::nullopt)
      : rate(learning_rate), betas(moments) {}
};

}  // namespace hftrain::optim
