#include "hftrain/trainer/memory_stage.h"

#include <algorithm>

namespace hftrain::trainer {
namespace {

void add(Json& metrics, const std::string& name, int64_t before, int64_t after, int64_t peak) {
  metrics[name + "_alloc_delta"] = after - before;
  metrics[name + "_peaked_delta"] = std::max<int64_t>(0, peak - after);
}

}  // namespace

MemoryStage::MemoryStage(const runtime::WorkerContext& context, bool wanted)
    : context_(context), wanted_(wanted) {
  if (!wanted_) return;
  runtime::restart_host_peak();
  host_ = runtime::host_memory();
  context_.device_runtime->restart_peak(context_.device);
  device_ = context_.device_runtime->memory(context_.device);
}

void MemoryStage::add_to(Json& metrics, const std::string& stage) const {
  if (!wanted_) return;
  const runtime::HostMemory host = runtime::host_memory();
  add(metrics, stage + "_mem_cpu", host_.resident, host.resident, host.peak_resident);
  if (context_.device.is_cpu()) return;
  const runtime::DeviceMemory device = context_.device_runtime->memory(context_.device);
  add(metrics, stage + "_mem_gpu", device_.allocated, device.allocated, device.peak_allocated);
}

}  // namespace hftrain::trainer
