#include "hftrain/optim/deepspeed_schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hftrain::optim {
namespace {

double quotient(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(1, whole));
}

double between(double low, double high, double share) {
  return low + (high - low) * share;
}

// Warm-up shared by three schedules: 0 at the first update, 1 from iteration `steps` on.
struct Warmup {
  int64_t steps = 0;
  bool logarithmic = true;

  static Warmup from(const ScheduleSetting& setting, ScheduleOptions& options) {
    const int64_t asked = options.integer("warmup_num_steps", setting.warmup_steps);
    // DeepSpeed has no warm-up of less than two steps; none at all is ours.
    return {asked == 0 ? 0 : std::max<int64_t>(2, asked),
            options.choice("warmup_type", {"log", "linear"}) == "log"};
  }
  bool over(int64_t iteration) const { return steps == 0 || iteration >= steps; }
  double share(int64_t iteration) const {
    if (over(iteration)) return 1.0;
    if (iteration < 0) return 0.0;
    if (!logarithmic) return quotient(iteration, steps);
    return std::log(static_cast<double>(iteration + 1)) / std::log(static_cast<double>(steps));
  }
};

// Half of a cycle: its length, and in how many stairs it goes (0: smoothly).
struct Half {
  int64_t steps = 2000, stairs = 0;
};

struct Cycle {
  Half rise, fall;

  // 0 to 1 and back; `iteration` counts from the first update of the cycle, which has 0.
  double scale(int64_t iteration) const {
    const int64_t offset = iteration % (rise.steps + fall.steps);
    if (offset <= rise.steps) return stepped(offset, rise);
    return stepped(rise.steps + fall.steps - offset, fall);
  }

  // Stairs by whole numbers: a quotient that is just below a stair would lose all of it.
  static double stepped(int64_t offset, const Half& half) {
    if (half.stairs == 0) return quotient(offset, half.steps);
    return quotient(offset * half.stairs / half.steps, half.stairs);
  }
};

double required(ScheduleOptions& options, const char* key) {
  const auto value = options.number(key);
  if (!value) options.fail(std::string(key) + " is required");
  return *value;
}

Cycle cycle_from(ScheduleOptions& options) {
  Cycle cycle;
  cycle.rise.steps = options.integer("cycle_first_step_size", 2000);
  cycle.fall.steps = options.integer("cycle_second_step_size", cycle.rise.steps);
  cycle.rise.stairs = options.integer("cycle_first_stair_count", 0);
  cycle.fall.stairs = options.integer("cycle_second_stair_count", cycle.rise.stairs);
  if (cycle.rise.steps == 0 || cycle.fall.steps == 0) options.fail("a half cycle needs at least one step");
  return cycle;
}

}  // namespace

Factor warmup_rate(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double low = options.number("warmup_min_lr", 0.0);
  const double high = options.number("warmup_max_lr", setting.base_rate);
  const Warmup warmup = Warmup::from(setting, options);
  return [=](int64_t step) { return between(low, high, warmup.share(step - 1)); };
}

Factor warmup_decay_rate(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double low = options.number("warmup_min_lr", 0.0);
  const double high = options.number("warmup_max_lr", setting.base_rate);
  const int64_t total = options.integer("total_num_steps", setting.total_steps);
  const Warmup warmup = Warmup::from(setting, options);
  return [=](int64_t step) {
    const int64_t iteration = step - 1;
    const double left = quotient(total - iteration, total - warmup.steps);
    const double share = warmup.over(iteration) ? std::clamp(left, 0.0, 1.0) : warmup.share(iteration);
    return between(low, high, share);
  };
}

Factor warmup_cosine_rate(const ScheduleSetting& setting, ScheduleOptions& options) {
  const double first = options.number("warmup_min_ratio", 0.0);
  const double last = options.number("cos_min_ratio", 1e-4);
  const int64_t total = options.integer("total_num_steps", setting.total_steps);
  const Warmup warmup = Warmup::from(setting, options);
  return [=, base = setting.base_rate](int64_t step) {
    const int64_t iteration = step - 1;
    if (!warmup.over(iteration)) {
      return iteration < 0 ? 0.0 : base * between(first, 1.0, warmup.share(iteration));
    }
    const double p = std::min(1.0, quotient(iteration - warmup.steps + 1, total - warmup.steps));
    return base * between(last, 1.0, (1.0 + std::cos(std::numbers::pi * p)) / 2.0);
  };
}

Factor range_test_rate(const ScheduleSetting&, ScheduleOptions& options) {
  const double low = options.number("lr_range_test_min_lr", 1e-3);
  const double growth = options.number("lr_range_test_step_rate", 1.0);
  const int64_t size = options.integer("lr_range_test_step_size", 2000);
  const bool stairs = options.boolean("lr_range_test_staircase", false);
  if (size == 0) options.fail("lr_range_test_step_size must be at least 1");
  return [=](int64_t step) {
    const double interval = quotient(step, size);
    return low * (1.0 + growth * (stairs ? std::floor(interval) : interval));
  };
}

Factor one_cycle_rate(const ScheduleSetting&, ScheduleOptions& options) {
  const double low = required(options, "cycle_min_lr"), high = required(options, "cycle_max_lr");
  const Cycle cycle = cycle_from(options);
  const int64_t decay_size = options.integer("decay_step_size", 0);
  const double decay_rate = options.number("decay_lr_rate", 0.0);
  const int64_t total = cycle.rise.steps + cycle.fall.steps;
  return [=](int64_t step) {
    const int64_t iteration = step - 1;
    if (iteration < total) return between(low, high, cycle.scale(step));
    if (decay_size == 0) return low;
    return low / (1.0 + decay_rate * quotient(iteration - total + 1, decay_size));
  };
}

BetaCurve one_cycle_betas(ScheduleOptions& options) {
  constexpr double kSecond = 0.99;
  const bool cycles = options.boolean("cycle_momentum", true);
  const double low = options.number("cycle_min_mom", 0.8), high = options.number("cycle_max_mom", 0.9);
  const double growth = options.number("decay_mom_rate", 0.0);
  const int64_t decay_size = options.integer("decay_step_size", 0);
  const Cycle cycle = cycle_from(options);
  if (!cycles) return {};
  return [=, total = cycle.rise.steps + cycle.fall.steps](int64_t step) -> Betas {
    if (step == 0) return {low, kSecond};
    const int64_t iteration = step - 1;
    if (iteration < total) return {between(high, low, cycle.scale(step)), kSecond};
    if (decay_size == 0) return {high, kSecond};
    return {high * (1.0 + growth * quotient(iteration - total + 1, decay_size)), kSecond};
  };
}

}  // namespace hftrain::optim
