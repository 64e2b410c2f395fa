#include "hftrain/plan/topology.h"

#include <algorithm>
#include <cmath>

#include "hftrain/base/whole_number.h"
#include "hftrain/plan/requested_threads.h"

namespace hftrain::plan {

int HostResources::usable_cores() const {
  const double cores = std::min<double>(allowed_cores, quota_cores.value_or(allowed_cores));
  return std::max(1, static_cast<int>(std::floor(cores + 1e-6)));
}

int64_t HostResources::usable_memory_bytes() const {
  return std::min(memory_bytes, memory_limit_bytes.value_or(memory_bytes));
}

void take_requested_threads(const Environment& environment, HostResources& host) {
  for (const char* variable : {"MKL_NUM_THREADS", "OMP_NUM_THREADS"}) {
    const auto threads = leading_integer(environment.get_or(variable, ""));
    if (!threads || *threads < 1) continue;
    host.requested_threads = static_cast<int>(std::min<int64_t>(*threads, 1 << 16));
    host.threads_variable = variable;
    return;
  }
}

}  // namespace hftrain::plan
