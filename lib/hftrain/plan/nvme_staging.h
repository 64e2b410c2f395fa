// Memory and disk that state on NVMe takes: the plan's budget and the worker use the same arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hftrain/plan/run_plan.h"

namespace hftrain::plan {

// Buffers in memory through which state on NVMe passes, piece by piece: one is computed on, one is being read
// ahead (pipeline_read), one is being written behind (pipeline_write).
struct NvmeStaging {
  int64_t buffers = 1;
  int64_t buffer_bytes = 0;
  int64_t bytes() const { return buffers * buffer_bytes; }
};

inline constexpr int64_t kNvmePage = 4096;  // buffers and pieces of files are multiples of it

// For `state_bytes` of one rank. Never more than the plan's buffers, and never more than a tenth of the state
// (but at least one MiB each): larger ones would eat up what offloading saves.
inline NvmeStaging nvme_staging(const NvmePlan& plan, int64_t state_bytes) {
  NvmeStaging staging;
  const int64_t wanted = 1 + (plan.pipeline_read ? 1 : 0) + (plan.pipeline_write ? 1 : 0);
  staging.buffers = std::clamp<int64_t>(plan.buffer_count, 1, wanted);
  const int64_t share = std::max<int64_t>(state_bytes / (10 * staging.buffers), 1 << 20);
  const int64_t limit = std::min({plan.buffer_bytes, share, state_bytes});
  staging.buffer_bytes = std::max<int64_t>((limit + kNvmePage - 1) / kNvmePage, 1) * kNvmePage;
  return staging;
}

}  // namespace hftrain::plan
