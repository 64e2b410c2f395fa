#include "hftrain/plan/expected_time.h"

#include <algorithm>

#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// Operations a second that training reaches, not what the data sheets promise.
struct Rate {
  int compute_major, compute_minor;  // from this capability on
  double half, full;                 // in 16 bits, in 32
};
constexpr Rate kGpuRates[] = {
    {10, 0, 6e14, 4e13}, {9, 0, 3e14, 3e13}, {8, 6, 6e13, 1.5e13}, {8, 0, 1.2e14, 1e13}, {0, 0, 3e13, 8e12}};
constexpr double kRateOfCore = 2e10;

double rate_of(const ResolveInput& input, const RankPlan& rank, const RunPlan& plan) {
  if (rank.device == DeviceKind::kCpu) return kRateOfCore * rank.threads;
  const CudaDevice& device =
      topology_of(input, rank).visible.devices[static_cast<size_t>(rank.ordinal)].device;
  for (const Rate& rate : kGpuRates) {
    const bool reaches =
        device.compute_major > rate.compute_major ||
        (device.compute_major == rate.compute_major && device.compute_minor >= rate.compute_minor);
    if (reaches) return plan.precision.compute == "float32" ? rate.full : rate.half;
  }
  return kGpuRates[0].full;
}

}  // namespace

double expected_seconds(const ResolveInput& input, const RunPlan& plan) {
  double slowest = 0;
  for (const RankPlan& rank : plan.ranks.ranks) {
    const double rate = rate_of(input, rank, plan);
    slowest = slowest == 0 ? rate : std::min(slowest, rate);
  }
  const double operations = plan.model.gradient_checkpointing ? 8 : 6;
  const double tokens = static_cast<double>(plan.steps.max_steps) *
                        static_cast<double>(plan.batch.global_train) *
                        static_cast<double>(std::max(plan.data.block_size, plan.data.target_size));
  return operations * tokens * static_cast<double>(plan.model.parameters) /
         (slowest * static_cast<double>(plan.ranks.world_size));
}

}  // namespace hftrain::plan
