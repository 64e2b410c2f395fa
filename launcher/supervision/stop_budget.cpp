#include "launcher/supervision/stop_budget.h"

#include <algorithm>

#include "hftrain/base/clock.h"

namespace hftrain::launcher {

using Kind = plan::WorkerEvent::Kind;

StopBudget::StopBudget(double begin, std::optional<double> end, bool trains) : end_(end), trains_(trains) {
  if (!end) return;
  const double time = std::max(0.0, *end - begin);
  margin_ = std::min(kMarginSeconds, time / 20);
  unknown_save_ = std::min(kUnknownSaveSeconds, time / 5);
}

void StopBudget::heard(const plan::WorkerEvent& event, double now) {
  if (!end_ || event.rank != 0) return;
  if (event.kind == Kind::kStep) {
    if (updated_ && last_of_first_) longest_update_ = std::max(longest_update_, now - *last_of_first_);
    updated_ = true;
  }
  if (event.kind == Kind::kCheckpoint && event.data.contains("seconds") &&
      event.data["seconds"].is_number()) {
    longest_save_ = std::max(longest_save_.value_or(0), event.data["seconds"].get<double>());
  }
  last_of_first_ = now;
}

void StopBudget::skip(double seconds) {
  if (last_of_first_) *last_of_first_ += seconds;
}

double StopBudget::kept_back_seconds() const {
  if (!trains_) return margin_;
  return margin_ + 2 * longest_save_.value_or(unknown_save_ / 2) + 2 * longest_update_;
}

double StopBudget::stop_at() const {
  return end_ && (updated_ || !trains_) ? *end_ - kept_back_seconds() : kNever;
}

}  // namespace hftrain::launcher
