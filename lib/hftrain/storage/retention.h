// Which checkpoints --save_total_limit removes. A pure function: no file is looked at, no clock is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace hftrain::storage {

enum class RetentionMoment {
  kAfterSave,
  kEndOfTraining,  // with a limit of 1 the best checkpoint alone stays: only for one that verified just now
};

// Steps to delete, oldest first, out of the committed checkpoints `steps` (any order).
//
// After a save the oldest go until max(total_limit, number of protected ones) are left. Protected are the
// newest, the newest that verified, and the best one. Order is by step number only: file times lie after a
// copy or a clock change. Unset or <= 0 keeps everything. A `best_step` or `newest_verified` that is not
// among `steps` protects nothing.
std::vector<int64_t> plan_retention(std::vector<int64_t> steps, std::optional<int64_t> best_step,
                                    std::optional<int64_t> newest_verified,
                                    std::optional<int64_t> total_limit,
                                    RetentionMoment moment = RetentionMoment::kAfterSave);

}  // namespace hftrain::storage
