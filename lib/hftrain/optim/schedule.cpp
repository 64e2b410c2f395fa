#include "hftrain/optim/schedule.h"

#include <algorithm>
#include <array>

#include "hftrain/base/error.h"
#include "hftrain/optim/deepspeed_schedules.h"
#include "hftrain/optim/metric_schedules.h"
#include "hftrain/optim/schedule_factors.h"

namespace hftrain::optim {
namespace {

constexpr const char* kOwn = "own";

// One of these takes what another kept: the number of steps and the base rate.
bool is_base_rate_times_factor(const std::string& name);

class FactorSchedule final : public Schedule {
 public:
  FactorSchedule(std::string name, double base_rate, Factor factor)
      : name_(std::move(name)), base_rate_(base_rate), factor_(std::move(factor)) {}
  // The factor is the rate itself: no base rate is kept.
  FactorSchedule(std::string name, Factor rate, BetaCurve betas)
      : name_(std::move(name)),
        base_rate_(1.0),
        factor_(std::move(rate)),
        betas_(std::move(betas)),
        absolute_(true) {}
  double rate() const override { return base_rate_ * factor_(steps_); }
  std::optional<Betas> betas() const override {
    return betas_ ? std::optional(betas_(steps_)) : std::nullopt;
  }
  void step() override { ++steps_; }
  void observe(double) override {}
  bool watches_metric() const override { return false; }
  Json state() const override {
    Json state = {{"name", name_}, {"steps", steps_}};
    if (!absolute_) state["base_rate"] = base_rate_;
    return state;
  }
  void load_state(const Json& state) override {
    const bool alike = !absolute_ && is_base_rate_times_factor(state.value("name", std::string()));
    if (!alike) require_schedule_state(state, name_);
    steps_ = state.at("steps").get<int64_t>();
    if (!absolute_) base_rate_ = state.value("base_rate", base_rate_);
  }

 private:
  std::string name_;
  double base_rate_;
  Factor factor_;
  BetaCurve betas_;
  bool absolute_ = false;
  int64_t steps_ = 0;
};

struct FactorEntry {
  const char* name;
  Factor (*make)(const ScheduleSetting&, ScheduleOptions&);
};

constexpr std::array kFactors{
    FactorEntry{"linear", linear_factor},
    FactorEntry{"cosine", cosine_factor},
    FactorEntry{"cosine_with_restarts", cosine_with_restarts_factor},
    FactorEntry{"polynomial", polynomial_factor},
    FactorEntry{"constant", constant_factor},
    FactorEntry{"constant_with_warmup", constant_with_warmup_factor},
    FactorEntry{"inverse_sqrt", inverse_sqrt_factor},
    FactorEntry{"cosine_with_min_lr", cosine_with_min_lr_factor},
    FactorEntry{"cosine_warmup_with_min_lr", cosine_warmup_with_min_lr_factor},
    FactorEntry{"warmup_stable_decay", warmup_stable_decay_factor},
};

bool is_base_rate_times_factor(const std::string& name) {
  return name == kOwn ||
         std::ranges::any_of(kFactors, [&](const FactorEntry& entry) { return name == entry.name; });
}

// These give the rate itself, and some the betas.
struct RateEntry {
  const char* name;
  Factor (*make)(const ScheduleSetting&, ScheduleOptions&);
  BetaCurve (*betas)(ScheduleOptions&) = nullptr;
};

constexpr std::array kRates{
    RateEntry{"WarmupLR", warmup_rate},
    RateEntry{"WarmupDecayLR", warmup_decay_rate},
    RateEntry{"WarmupCosineLR", warmup_cosine_rate},
    RateEntry{"LRRangeTest", range_test_rate},
    RateEntry{"OneCycle", one_cycle_rate, one_cycle_betas},
};

template <typename T>
std::unique_ptr<Schedule> make(const ScheduleSetting& setting, ScheduleOptions& options) {
  return std::make_unique<T>(setting, options);
}

struct MetricEntry {
  const char* name;
  std::unique_ptr<Schedule> (*make)(const ScheduleSetting&, ScheduleOptions&);
};

constexpr std::array kMetricSchedules{
    MetricEntry{"reduce_lr_on_plateau", make<PlateauSchedule>},
    MetricEntry{"greedy", make<GreedySchedule>},
};

std::unique_ptr<Schedule> build(const std::string& name, const ScheduleSetting& setting,
                                ScheduleOptions& options) {
  for (const FactorEntry& entry : kFactors) {
    if (name == entry.name) {
      return std::make_unique<FactorSchedule>(name, setting.base_rate, entry.make(setting, options));
    }
  }
  for (const RateEntry& entry : kRates) {
    if (name != entry.name) continue;
    BetaCurve betas = entry.betas == nullptr ? BetaCurve() : entry.betas(options);
    return std::make_unique<FactorSchedule>(name, entry.make(setting, options), std::move(betas));
  }
  for (const MetricEntry& entry : kMetricSchedules) {
    if (name == entry.name) return entry.make(setting, options);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Schedule> own_schedule(double base_rate, std::function<double(int64_t step)> factor) {
  return std::make_unique<FactorSchedule>(kOwn, base_rate, std::move(factor));
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const FactorEntry& entry : kFactors) names.emplace_back(entry.name);
  for (const RateEntry& entry : kRates) names.emplace_back(entry.name);
  for (const MetricEntry& entry : kMetricSchedules) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Schedule> make_schedule(const std::string& name, const ScheduleSetting& setting,
                                        const Json& options) {
  ScheduleOptions reader(name, options);
  auto schedule = build(name, setting, reader);
  if (schedule != nullptr) {
    reader.finish();
    return schedule;
  }
  std::string known;
  for (const std::string& each : schedule_names()) known += known.empty() ? each : ", " + each;
  throw Error(ExitCode::kUsage, "unknown schedule \"" + name + "\"")
      .where("--lr_scheduler_type")
      .why("no schedule is called so")
      .hint("known ones: " + known);
}

void require_schedule_state(const Json& state, const std::string& name) {
  const std::string found = state.value("name", std::string());
  if (found == name) return;
  throw Error(ExitCode::kData, "the saved schedule is \"" + found + "\", this run's is \"" + name + "\"")
      .where("--lr_scheduler_type")
      .why("the state of one schedule means nothing to another")
      .hint("resume with the same --lr_scheduler_type");
}

}  // namespace hftrain::optim
