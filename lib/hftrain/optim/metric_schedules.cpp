#include "hftrain/optim/metric_schedules.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace hftrain::optim {
namespace {

// JSON has no infinity: "no best yet" is null.
Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

double number_or(const Json& value, double otherwise) {
  return value.is_null() ? otherwise : value.get<double>();
}

double decay_factor(ScheduleOptions& options, double otherwise) {
  const double factor = options.number("factor", otherwise);
  if (factor >= 1.0 || factor <= 0.0) options.fail("factor must be between 0 and 1");
  return factor;
}

}  // namespace

Improvement Improvement::from(ScheduleOptions& options, bool relative_by_default, double threshold) {
  Improvement result;
  result.minimise = options.choice("mode", {"min", "max"}) == "min";
  const std::vector<std::string> modes =
      relative_by_default ? std::vector<std::string>{"rel", "abs"} : std::vector<std::string>{"abs", "rel"};
  result.relative = options.choice("threshold_mode", modes) == "rel";
  result.threshold = options.number("threshold", threshold);
  return result;
}

bool Improvement::better(double value, double best) const {
  if (minimise) return value < (relative ? best * (1.0 - threshold) : best - threshold);
  return value > (relative ? best * (1.0 + threshold) : best + threshold);
}

double Improvement::worst() const {
  const double infinity = std::numeric_limits<double>::infinity();
  return minimise ? infinity : -infinity;
}

PlateauSchedule::PlateauSchedule(const ScheduleSetting& setting, ScheduleOptions& options)
    : improvement_(Improvement::from(options, /*relative_by_default=*/true, 1e-4)),
      factor_(decay_factor(options, 0.1)),
      least_(options.number("min_lr", 0.0)),
      least_change_(options.number("eps", 1e-8)),
      patience_(options.integer("patience", 10)),
      cooldown_(options.integer("cooldown", 0)),
      base_rate_(setting.base_rate),
      rate_(setting.base_rate),
      best_(improvement_.worst()) {}

void PlateauSchedule::observe(double metric) {
  ++observed_;
  if (improvement_.better(metric, best_)) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ <= patience_) return;
  const double lower = std::max(rate_ * factor_, least_);
  if (rate_ - lower > least_change_) rate_ = lower;
  cooling_ = cooldown_;
  bad_ = 0;
}

Json PlateauSchedule::state() const {
  return {{"name", "reduce_lr_on_plateau"}, {"rate", rate_},        {"best", finite_or_null(best_)},
          {"num_bad_epochs", bad_},         {"cooldown", cooling_}, {"observed", observed_},
          {"base_rate", base_rate_}};
}

void PlateauSchedule::load_state(const Json& state) {
  require_schedule_state(state, "reduce_lr_on_plateau");
  base_rate_ = state.value("base_rate", base_rate_);
  rate_ = state.at("rate").get<double>();
  best_ = number_or(state.at("best"), improvement_.worst());
  bad_ = state.at("num_bad_epochs").get<int64_t>();
  cooling_ = state.at("cooldown").get<int64_t>();
  observed_ = state.at("observed").get<int64_t>();
}

GreedySchedule::GreedySchedule(const ScheduleSetting& setting, ScheduleOptions& options)
    : improvement_(Improvement::from(options, /*relative_by_default=*/false, 1e-6)),
      base_rate_(setting.base_rate),
      factor_(decay_factor(options, 0.95)),
      least_(options.number("min_lr", 1e-3)),
      greatest_(options.number("max_lr", 1.0)),
      least_change_(options.number("eps", 1e-8)),
      patience_(options.integer("patience", 10)),
      cooldown_(options.integer("cooldown", 0)),
      warmup_(options.integer("warmup", 0)),
      reset_start_(options.integer("reset_start", 500)),
      window_size_(options.integer("window_size", 50)),
      smooth_(options.boolean("smooth", false)),
      rate_(setting.base_rate),
      best_(improvement_.worst()),
      resets_left_(reset_start_) {
  if (window_size_ == 0) options.fail("window_size must be at least 1");
  if (options.boolean("verbose", false))
    options.fail("verbose is not implemented: the logged rate shows each change");
}

double GreedySchedule::smoothed(double metric) {
  window_.push_back(metric);
  if (static_cast<int64_t>(window_.size()) > window_size_) window_.pop_front();
  return std::accumulate(window_.begin(), window_.end(), 0.0) / static_cast<double>(window_.size());
}

void GreedySchedule::observe(double metric) {
  ++observed_;
  const double value = smooth_ ? smoothed(metric) : metric;
  if (cooling_ > 0 || warming_ > 0) {
    --(cooling_ > 0 ? cooling_ : warming_);
    good_ = bad_ = 0;
    return;
  }
  count(value);
  if (good_ > patience_) {
    raise();
    warming_ = warmup_;
    good_ = 0;
  } else if (bad_ > patience_) {
    reduce();
    bad_ = 0;
  }
}

void GreedySchedule::count(double metric) {
  if (improvement_.better(metric, best_)) {
    best_ = metric;
    ++good_;
    bad_ = 0;
  } else {
    ++bad_;
    good_ = 0;
  }
}

void GreedySchedule::raise() {
  const double higher = std::min(rate_ / factor_, greatest_);
  if (higher - rate_ > least_change_) rate_ = higher;
  resets_left_ = reset_start_;
}

void GreedySchedule::reduce() {
  const double lower = std::max(rate_ * factor_, least_);
  if (rate_ - lower > least_change_) rate_ = lower;
  if (rate_ <= least_ && --resets_left_ <= 0) restart();
  cooling_ = cooldown_;  // upstream sets it after a restart too
}

void GreedySchedule::restart() {
  rate_ = base_rate_;
  best_ = improvement_.worst();
  good_ = bad_ = cooling_ = warming_ = 0;
  resets_left_ = reset_start_;
  window_.clear();
}

Json GreedySchedule::state() const {
  return {{"name", "greedy"},
          {"rate", rate_},
          {"best", finite_or_null(best_)},
          {"num_good_epochs", good_},
          {"num_bad_epochs", bad_},
          {"cooldown", cooling_},
          {"warmup", warming_},
          {"resets_left", resets_left_},
          {"window", window_},
          {"observed", observed_},
          {"base_rate", base_rate_}};
}

void GreedySchedule::load_state(const Json& state) {
  require_schedule_state(state, "greedy");
  base_rate_ = state.value("base_rate", base_rate_);
  rate_ = state.at("rate").get<double>();
  best_ = number_or(state.at("best"), improvement_.worst());
  good_ = state.at("num_good_epochs").get<int64_t>();
  bad_ = state.at("num_bad_epochs").get<int64_t>();
  cooling_ = state.at("cooldown").get<int64_t>();
  warming_ = state.at("warmup").get<int64_t>();
  resets_left_ = state.at("resets_left").get<int64_t>();
  window_ = state.at("window").get<std::deque<double>>();
  observed_ = state.at("observed").get<int64_t>();
}

}  // namespace hftrain::optim
