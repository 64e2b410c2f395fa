// The few functions of NVML that a device table needs, looked up by name at run time.
#include <dlfcn.h>

#include <array>
#include <memory>

#include "hftrain/machine/detect_topology.h"

namespace hftrain::machine {
namespace {

using plan::CudaDevice;
using plan::GpuInventory;

// From the NVML reference: opaque handles, C structs of fixed layout, 0 = success.
using Handle = void*;
using Result = int;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct MemoryInfo {
  unsigned long long total, free, used;
};
constexpr unsigned kNameSize = 96;
constexpr Result kNoPermission = 4;

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

class Nvml {
 public:
  explicit Nvml(void* library) : library_(library) {}

  // False when the function is missing or fails; last_error() says why.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) {
    using Function = Result (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
    last_ = function == nullptr ? -1 : function(arguments...);
    return last_ == 0;
  }

  std::string last_error() const {
    using Function = const char* (*)(Result);
    const auto text = reinterpret_cast<Function>(::dlsym(library_.get(), "nvmlErrorString"));
    return text != nullptr && last_ > 0 ? text(last_) : "an incomplete driver library";
  }

  // What the last call found is there, for others: a scheduler or a container keeps it from this process.
  bool is_denied() const { return last_ == kNoPermission; }

  std::string text(const char* name) {
    std::array<char, kNameSize> buffer{};
    return call(name, buffer.data(), kNameSize) ? buffer.data() : "";
  }
  std::string text(const char* name, Handle device) {
    std::array<char, kNameSize> buffer{};
    return call(name, device, buffer.data(), kNameSize) ? buffer.data() : "";
  }

 private:
  std::unique_ptr<void, CloseLibrary> library_;
  Result last_ = 0;
};

CudaDevice read_device(Nvml& nvml, Handle handle, int index) {
  CudaDevice device;
  device.index = index;
  device.uuid = nvml.text("nvmlDeviceGetUUID", handle);
  device.name = nvml.text("nvmlDeviceGetName", handle);
  PciInfo pci{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", handle, &pci)) device.pci_bus_id = pci.bus_id;
  MemoryInfo memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", handle, &memory)) {
    device.total_bytes = static_cast<int64_t>(memory.total);
    device.free_bytes = static_cast<int64_t>(memory.free);
  }
  nvml.call("nvmlDeviceGetCudaComputeCapability", handle, &device.compute_major, &device.compute_minor);
  return device;
}

void read_instances(Nvml& nvml, Handle handle, CudaDevice& device) {
  unsigned current = 0, pending = 0, count = 0;
  if (!nvml.call("nvmlDeviceGetMigMode", handle, &current, &pending) || current != 1) return;
  device.mig_enabled = true;
  nvml.call("nvmlDeviceGetMaxMigDeviceCount", handle, &count);
  for (unsigned i = 0; i < count; ++i) {
    Handle instance = nullptr;
    if (!nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", handle, i, &instance)) continue;
    CudaDevice child = read_device(nvml, instance, device.index);
    child.compute_major = device.compute_major;
    child.compute_minor = device.compute_minor;
    if (child.pci_bus_id.empty()) child.pci_bus_id = device.pci_bus_id;
    device.instances.push_back(std::move(child));
  }
}

// The count is of all GPUs, those that are not opened among them. CUDA numbers the others alone.
void read_devices(Nvml& nvml, unsigned count, GpuInventory& inventory) {
  std::string first;
  for (unsigned i = 0; i < count; ++i) {
    Handle handle = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &handle)) {
      inventory.devices.push_back(read_device(nvml, handle, static_cast<int>(inventory.devices.size())));
      read_instances(nvml, handle, inventory.devices.back());
      continue;
    }
    const std::string why =
        "the NVIDIA driver does not open GPU " + std::to_string(i) + ": " + nvml.last_error();
    if (first.empty()) first = why;
    if (!nvml.is_denied()) inventory.unopened.push_back(why);
  }
  if (inventory.devices.empty()) inventory.problem = first;
}

GpuInventory read_inventory(Nvml& nvml) {
  GpuInventory inventory;
  inventory.driver_version = nvml.text("nvmlSystemGetDriverVersion");
  int cuda = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda)) {
    inventory.cuda_version = std::to_string(cuda / 1000) + '.' + std::to_string(cuda % 1000 / 10);
  }
  unsigned count = 0;
  if (!nvml.call("nvmlDeviceGetCount_v2", &count)) {
    inventory.problem = "the NVIDIA driver does not list its GPUs: " + nvml.last_error();
    return inventory;
  }
  read_devices(nvml, count, inventory);
  return inventory;
}

}  // namespace

GpuInventory query_nvml() {
  GpuInventory inventory;
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    inventory.problem = "the NVIDIA driver's library cannot be loaded: " + std::string(::dlerror());
    return inventory;
  }
  Nvml nvml(library);
  if (!nvml.call("nvmlInit_v2")) {
    inventory.problem = "the NVIDIA driver does not answer: " + nvml.last_error();
    return inventory;
  }
  inventory = read_inventory(nvml);
  nvml.call("nvmlShutdown");
  return inventory;
}

}  // namespace hftrain::machine
