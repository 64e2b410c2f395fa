#include "hftrain/report/samples.h"

#include <cmath>

#include "hftrain/report/members.h"

namespace hftrain::report {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

void add_sample(Series& series, const Point& point) {
  while (!series.empty() && series.back().step >= point.step) series.pop_back();  // of work that was lost
  series.push_back(point);
}

void add_if_there(Series& series, const Json& event, const char* member, double scale) {
  if (!event.contains(member) || !event[member].is_number()) return;
  const double step = number_or(event, "step", 0);
  if (std::abs(step) > kLargestCount) return;
  add_sample(series, {step, event[member].get<double>() / scale, time_or_none(number_or(event, "time", 0))});
}

double tokens_of_update(const Json& plan) {
  return number_or(object_or_empty(plan, "batch"), "global_train", 0) *
         number_or(object_or_empty(plan, "data"), "block_size", 0);
}

Series speed_by_records(const Run& run) {
  Series speed;
  const auto loss = run.log.metrics.find("loss");
  const double tokens = tokens_of_update(run.plan);
  if (loss == run.log.metrics.end() || tokens <= 0) return speed;
  for (size_t i = 1; i < loss->second.size(); ++i) {
    const Point &before = loss->second[i - 1], &now = loss->second[i];
    if (now.time > before.time && before.time > 0)
      speed.push_back({now.step, tokens * (now.step - before.step) / (now.time - before.time), now.time});
  }
  return speed;
}

}  // namespace

std::map<std::string, Series> samples_of(const Run& run) {
  std::map<std::string, Series> samples;
  for (const Json& event : run.events) {
    if (text_or(event, "event", "") != "sample") continue;
    add_if_there(samples[kTokensPerSecond], event, "tokens_per_second", 1);
    add_if_there(samples[kMemory], event, "memory_bytes", kGiB);
  }
  if (samples[kTokensPerSecond].size() < 2) samples[kTokensPerSecond] = speed_by_records(run);
  return samples;
}

}  // namespace hftrain::report
