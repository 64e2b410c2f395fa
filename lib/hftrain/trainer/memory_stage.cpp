#include "hftrain/trainer/memory_stage.h"

#include <algorithm>

namespace hftrain::trainer {
namespace {

void add_deltas(Json& metrics, const std::string& name, int64_t before, int64_t after, int64_t peak) {
  metrics[name + "_alloc_delta"] = after - before;
  metrics[name + "_peaked_delta"] = std::max<int64_t>(0, peak - after);
}

}  // namespace

MemoryStages::MemoryStages(const runtime::WorkerContext& context, bool wanted)
    : context_(context), wanted_(wanted) {
  if (!wanted_) return;
  restart();
  of_init_["before_init_mem_cpu"] = host_.allocated;
  if (!context_.device.is_cpu()) of_init_["before_init_mem_gpu"] = device_.allocated;
}

MemoryStages::Memory MemoryStages::host() const {
  const runtime::HostMemory memory = runtime::host_memory();
  return {memory.resident, memory.peak_resident};
}

MemoryStages::Memory MemoryStages::device() const {
  const runtime::DeviceMemory memory = context_.device_runtime->memory(context_.device);
  return {memory.allocated, memory.peak_allocated};
}

void MemoryStages::begin() {
  if (!wanted_) return;
  if (in_init_) add("init", of_init_);
  in_init_ = false;
  restart();
}

void MemoryStages::restart() {
  const int64_t host_peak = peak_host_bytes(), device_peak = peak_device_bytes();
  runtime::restart_host_peak();
  context_.device_runtime->restart_peak(context_.device);
  host_ = {host().allocated, host_peak};
  device_ = {device().allocated, device_peak};
}

void MemoryStages::end(const std::string& stage, Json& metrics) {
  if (!wanted_) return;
  add(stage, metrics);
  metrics.update(of_init_);
  of_init_ = Json::object();
}

void MemoryStages::add(const std::string& stage, Json& metrics) const {
  const Memory host_now = host(), device_now = device();
  add_deltas(metrics, stage + "_mem_cpu", host_.allocated, host_now.allocated, host_now.peak);
  if (context_.device.is_cpu()) return;
  add_deltas(metrics, stage + "_mem_gpu", device_.allocated, device_now.allocated, device_now.peak);
}

int64_t MemoryStages::peak_host_bytes() const {
  return std::max(host_.peak, host().peak);
}

int64_t MemoryStages::peak_device_bytes() const {
  return std::max(device_.peak, device().peak);
}

}  // namespace hftrain::trainer
