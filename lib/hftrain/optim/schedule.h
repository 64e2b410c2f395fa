// Learning-rate schedules: the ones that transformers 5.17 offers by name, and those
// of DeepSpeed.
//
//   const ScheduleSetting setting{.base_rate = 5e-5, .warmup_steps = 10, .total_steps = 100};
//   auto schedule = optim::make_schedule("cosine", setting, options);
//   optimizer.step(schedule->pace());
//   schedule->step();              // after each update that was not skipped
//   schedule->observe(eval_loss);  // after each evaluation, when watches_metric()
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/optim/pace.h"

namespace hftrain::optim {

struct ScheduleSetting {
  double base_rate = 5e-5;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;
};

// One thread. Both parameter groups follow one rate.
class Schedule {
 public:
  virtual ~Schedule() = default;
  // The rate of the next update.
  virtual double rate() const = 0;
  // Its betas, from a schedule that moves them.
  virtual std::optional<Betas> betas() const { return std::nullopt; }
  Pace pace() const { return {rate(), betas()}; }
  // One update is done.
  virtual void step() = 0;
  // Result of an evaluation. Does nothing unless watches_metric().
  virtual void observe(double metric) = 0;
  virtual bool watches_metric() const = 0;
  // Steps done, and what else the schedule remembers; numbers keep every bit.
  virtual Json state() const = 0;
  // State of a schedule of the same name, or of another one where both are a base rate times a function of the step; any other
  // is an Error (exit code 4). The base rate is that of the state, if it has one ("base_rate"); the rest of the setting is this run's.
  virtual void load_state(const Json& state) = 0;
};

// `options` are lr_scheduler_kwargs. An unknown name, an unknown option, a missing one or a value out of
// range is an Error (exit code 2).
std::unique_ptr<Schedule> make_schedule(const std::string& name, const ScheduleSetting& setting,
                                        const Json& options = Json::object());

// The base rate times a factor that somebody else computes; its state has the name "own".
std::unique_ptr<Schedule> own_schedule(double base_rate, std::function<double(int64_t step)> factor);

std::vector<std::string> schedule_names();

// Throws an Error (exit code 4) unless `state` is that of the schedule `name`.
void require_schedule_state(const Json& state, const std::string& name);

}  // namespace hftrain::optim
