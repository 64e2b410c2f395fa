#include "hftrain/optim/schedule_factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hftrain::optim {
namespace {

constexpr double kPi = std::numbers::pi;

double ratio(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

// Share of the steps after the warm-up that are done.
double progress(const ScheduleSetting& setting, int64_t step) {
  return ratio(step - setting.warmup_steps, setting.total_steps - setting.warmup_steps);
}

double half_cosine(double cycles, double p) {
  return 0.5 * (1.0 + std::cos(kPi * cycles * 2.0 * p));
}

// Warm-up from 0, then `after`.
Factor warmed(const ScheduleSetting& setting, Factor after) {
  return [warmup = setting.warmup_steps, after = std::move(after)](int64_t step) {
    return step < warmup ? ratio(step, warmup) : after(step);
  };
}

double raised(double factor, double least) {
  return std::max(0.0, factor * (1 - least) + least);
}

// min_lr or min_lr_rate, exactly one, as a share of the base rate.
double least_rate(const ScheduleSetting& setting, ScheduleOptions& options) {
  const auto rate = options.number("min_lr");
  const auto share = options.number("min_lr_rate");
  if (rate.has_value() == share.has_value()) options.fail("give exactly one of min_lr and min_lr_rate");
  if (rate && setting.base_rate <= 0) options.fail("min_lr needs a learning rate above 0");
  return share ? *share : *rate / setting.base_rate;
}

}  // namespace

Factor constant_factor(const ScheduleSetting&, ScheduleOptions&) {
  return [](int64_t) { return 1.0; };
}

Factor constant_with_warmup_factor(const ScheduleSetting& setting, ScheduleOptions&) {
  return warmed(setting, [](int64_t) { return 1.0; });
}

Factor linear_factor(const ScheduleSetting& setting, ScheduleOptions&) {
  return warmed(setting, [setting](int64_t step) {
    return std::max(0.0, ratio(setting.total_steps - step, setting.total_steps - setting.warmup_steps));
  });
}

Factor cosine_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double cycles = options.number("num_cycles", 0.5);
  return warmed(setting, [setting, cycles](int64_t step) {
    return std::max(0.0, half_cosine(cycles, progress(setting, step)));
  });
}

Factor cosine_with_restarts_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double cycles = options.number("num_cycles", 1.0);
  return warmed(setting, [setting, cycles](int64_t step) {
    const double p = progress(setting, step);
    if (p >= 1.0) return 0.0;
    return std::max(0.0, 0.5 * (1.0 + std::cos(kPi * std::fmod(cycles * p, 1.0))));
  });
}

Factor polynomial_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double end = options.number("lr_end", 1e-7), power = options.number("power", 1.0);
  if (setting.base_rate <= end) options.fail("lr_end must be smaller than the learning rate");
  return warmed(setting, [setting, end, power](int64_t step) {
    const int64_t decay = setting.total_steps - setting.warmup_steps;
    if (step > setting.total_steps || decay <= 0) return end / setting.base_rate;
    const double left = 1.0 - ratio(step - setting.warmup_steps, decay);
    return ((setting.base_rate - end) * std::pow(left, power) + end) / setting.base_rate;
  });
}

Factor inverse_sqrt_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const auto fallback = static_cast<double>(setting.warmup_steps > 0 ? setting.warmup_steps : 10000);
  const double timescale = options.number("timescale", fallback);
  if (timescale <= 0) options.fail("timescale must be above 0");
  return warmed(setting, [setting, timescale](int64_t step) {
    const double shifted =
        static_cast<double>(step) + (timescale - static_cast<double>(setting.warmup_steps));
    return 1.0 / std::sqrt(shifted / timescale);
  });
}

Factor cosine_with_min_lr_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double cycles = options.number("num_cycles", 0.5), least = least_rate(setting, options);
  return warmed(setting, [setting, cycles, least](int64_t step) {
    return raised(half_cosine(cycles, progress(setting, step)), least);
  });
}

Factor cosine_warmup_with_min_lr_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double cycles = options.number("num_cycles", 0.5), least = least_rate(setting, options);
  const auto first = options.number("warmup_lr_rate");
  return [setting, cycles, least, first](int64_t step) {
    if (step >= setting.warmup_steps) return raised(half_cosine(cycles, progress(setting, step + 1)), least);
    if (!first) return ratio(step + 1, setting.warmup_steps);
    return *first + (1.0 - *first) * ratio(step, setting.warmup_steps - 1);
  };
}

Factor warmup_stable_decay_factor(const ScheduleSetting& setting, ScheduleOptions& options) {
  const std::string rise = options.choice("warmup_type", {"linear", "cosine", "1-sqrt"});
  const std::string fall = options.choice("decay_type", {"cosine", "linear", "1-sqrt"});
  const double cycles = options.number("num_cycles", 0.5), least = options.number("min_lr_ratio", 0.0);
  const auto decay = options.integer("num_decay_steps");
  if (!decay) options.fail("num_decay_steps is required");
  const int64_t warmup = setting.warmup_steps;
  const int64_t stable = options.integer("num_stable_steps").value_or(setting.total_steps - warmup - *decay);
  return [=, decay = *decay](int64_t step) {
    if (step < warmup) {
      const double x = ratio(step, warmup);
      const double shaped = rise == "linear"   ? x
                            : rise == "cosine" ? 0.5 * (1 - std::cos(kPi * x))
                                               : 1 - std::sqrt(1 - x);
      return raised(shaped, least);
    }
    if (step < warmup + stable) return 1.0;
    if (step >= warmup + stable + decay) return least;
    const double x = ratio(step - warmup - stable, decay);
    const double shaped = fall == "linear"   ? 1 - x
                          : fall == "cosine" ? half_cosine(cycles, x)
                                             : 1 - std::sqrt(x);
    return raised(shaped, least);
  };
}

}  // namespace hftrain::optim
