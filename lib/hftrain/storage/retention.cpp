#include "hftrain/storage/retention.h"

#include <algorithm>
#include <set>

namespace hftrain::storage {

std::vector<int64_t> plan_retention(std::vector<int64_t> steps, std::optional<int64_t> best_step,
                                    std::optional<int64_t> newest_verified,
                                    std::optional<int64_t> total_limit, RetentionMoment moment) {
  if (!total_limit || *total_limit <= 0 || steps.empty()) return {};
  const std::set<int64_t> sorted(steps.begin(), steps.end());

  const bool best_alone = moment == RetentionMoment::kEndOfTraining && *total_limit == 1 && best_step &&
                          sorted.count(*best_step) > 0;
  std::set<int64_t> kept;
  if (best_step && sorted.count(*best_step) > 0) kept.insert(*best_step);
  if (!best_alone) {
    kept.insert(*sorted.rbegin());
    if (newest_verified && sorted.count(*newest_verified) > 0) kept.insert(*newest_verified);
  }

  const auto limit = std::max(static_cast<size_t>(*total_limit), kept.size());
  size_t left = sorted.size();
  std::vector<int64_t> deletions;
  for (const int64_t step : sorted) {
    if (left <= limit) break;
    if (kept.count(step) > 0) continue;
    deletions.push_back(step);
    --left;
  }
  return deletions;
}

}  // namespace hftrain::storage
