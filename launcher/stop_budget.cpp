#include "launcher/stop_budget.h"

#include <algorithm>
#include <limits>

namespace hftrain::launcher {

using Kind = plan::WorkerEvent::Kind;

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

double StopBudget::kept_back_seconds() const {
  return kMarginSeconds + 2 * longest_save_.value_or(kUnknownSaveSeconds / 2) + 2 * longest_update_;
}

double StopBudget::stop_at() const {
  return end_ && updated_ ? *end_ - kept_back_seconds() : std::numeric_limits<double>::infinity();
}

}  // namespace hftrain::launcher
