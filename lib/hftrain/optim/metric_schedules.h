// The schedules that follow a metric: reduce_lr_on_plateau (as torch) and greedy (as transformers).
#pragma once

#include <deque>

#include "hftrain/optim/schedule.h"
#include "hftrain/optim/schedule_options.h"

namespace hftrain::optim {

// When a metric counts as better than the best so far. A change of less than the threshold, relative or
// absolute, does not.
struct Improvement {
  bool minimise = true, relative = true;
  double threshold = 0;

  static Improvement from(ScheduleOptions& options, bool relative_by_default, double threshold);
  bool better(double value, double best) const;
  double worst() const;  // ±infinity
};

// The rate is multiplied by `factor` after more than `patience` evaluations without improvement.
class PlateauSchedule final : public Schedule {
 public:
  PlateauSchedule(const ScheduleSetting& setting, ScheduleOptions& options);
  double rate() const override { return rate_; }
  void step() override {}
  void observe(double metric) override;
  bool watches_metric() const override { return true; }
  Json state() const override;
  void load_state(const Json& state) override;

 private:
  Improvement improvement_;
  double factor_, least_, least_change_;
  int64_t patience_, cooldown_;
  double base_rate_;  // where the rate began
  double rate_, best_;
  int64_t bad_ = 0, cooling_ = 0, observed_ = 0;
};

// The rate also rises after more than `patience` improvements in a row.
class GreedySchedule final : public Schedule {
 public:
  GreedySchedule(const ScheduleSetting& setting, ScheduleOptions& options);
  double rate() const override { return rate_; }
  void step() override {}
  void observe(double metric) override;
  bool watches_metric() const override { return true; }
  Json state() const override;
  void load_state(const Json& state) override;

 private:
  double smoothed(double metric);
  void count(double metric);
  void raise();
  void reduce();
  void restart();

  Improvement improvement_;
  double base_rate_, factor_, least_, greatest_, least_change_;
  int64_t patience_, cooldown_, warmup_, reset_start_, window_size_;
  bool smooth_;
  double rate_, best_;
  int64_t good_ = 0, bad_ = 0, cooling_ = 0, warming_ = 0, resets_left_, observed_ = 0;
  std::deque<double> window_;
};

}  // namespace hftrain::optim
