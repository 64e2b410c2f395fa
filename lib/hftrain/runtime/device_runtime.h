// What the project asks of a kind of device, so that nothing but the CUDA plug-in names CUDA.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <string>

namespace hftrain::runtime {

// Bytes of a device's allocator, as seen by this process. All zero on the CPU, whose memory is host memory
// (host_memory.h).
struct DeviceMemory {
  int64_t allocated = 0;       // held by tensors now
  int64_t peak_allocated = 0;  // most ever held since the start or restart_peak
  int64_t reserved = 0;        // taken from the driver now
  int64_t peak_reserved = 0;
  int64_t total = 0;  // of the device
};

// One per process, owned by the WorkerContext. Every function may be called from any thread. Errors are those
// of LibTorch, translated by translate_exceptions at the outermost call.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  virtual c10::DeviceType type() const = 0;
  virtual int device_count() const = 0;
  // "GPU-" and 32 hexadecimal digits in groups, as the driver's tools name it; empty on the CPU.
  virtual std::string uuid(c10::Device device) const = 0;
  // Makes `device` current for this thread; to be done before the thread's first allocation.
  virtual void set_current(c10::Device device) const = 0;
  // Waits until everything submitted to the device has finished.
  virtual void synchronise(c10::Device device) const = 0;
  // The generator that random operators on `device` use when given none.
  virtual at::Generator generator(c10::Device device) const = 0;
  // Allocator of host memory from which copies to the device run in the background; nullptr where there is
  // none.
  virtual c10::Allocator* pinned_allocator() const = 0;

  virtual DeviceMemory memory(c10::Device device) const = 0;
  virtual void restart_peak(c10::Device device) const = 0;
  // Gives cached, unused blocks back to the driver.
  virtual void empty_cache() const = 0;
};

// One device, `cpu`; nothing to wait for.
std::unique_ptr<DeviceRuntime> make_cpu_runtime();

}  // namespace hftrain::runtime
