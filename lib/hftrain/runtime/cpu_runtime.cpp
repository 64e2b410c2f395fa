#include <ATen/CPUGeneratorImpl.h>

#include "hftrain/runtime/device_runtime.h"
#include "hftrain/runtime/tensor_memory.h"

namespace hftrain::runtime {
namespace {

class CpuRuntime final : public DeviceRuntime {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::CPU; }
  int device_count() const override { return 1; }
  std::string uuid(c10::Device) const override { return ""; }
  void set_current(c10::Device) const override {}
  void synchronise(c10::Device) const override {}
  at::Generator generator(c10::Device) const override { return at::detail::getDefaultCPUGenerator(); }
  c10::Allocator* pinned_allocator() const override { return nullptr; }
  DeviceMemory memory(c10::Device) const override { return {}; }
  void restart_peak(c10::Device) const override {}
  void empty_cache() const override { empty_tensor_memory(); }
};

}  // namespace

std::unique_ptr<DeviceRuntime> make_cpu_runtime() {
  return std::make_unique<CpuRuntime>();
}

}  // namespace hftrain::runtime
