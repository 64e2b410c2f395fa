// What a machine offers a run: the GPUs that CUDA_VISIBLE_DEVICES leaves visible, CPU cores, memory, and the
// limits that the scheduler or container puts on them. machine/detect_topology.h reads those of this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hftrain::plan {

// One GPU, or one MIG instance of a GPU.
struct CudaDevice {
  int index = 0;     // in PCI order, as nvidia-smi counts; a MIG instance has its parent's
  std::string uuid;  // "GPU-…" or "MIG-…"
  std::string name;
  std::string pci_bus_id;  // "00000000:81:00.0"
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int compute_major = 0, compute_minor = 0;
  bool mig_enabled = false;           // the GPU is split: only its instances can compute
  std::vector<CudaDevice> instances;  // of a split GPU
};

// What the driver says. `problem` is empty when the driver answered, also when it has no GPU to offer.
struct GpuInventory {
  std::vector<CudaDevice> devices;  // PCI order
  std::string driver_version;       // "550.54.15"
  std::string cuda_version;         // newest CUDA the driver supports: "12.4"
  std::string problem;              // why the driver could not be asked, or opens none of its GPUs
  std::vector<std::string>
      unopened;  // why it does not open some of them, of which `devices` and their numbers say nothing
};

// One entry of the mask that CUDA accepts; its position is the ordinal that workers use.
struct VisibleDevice {
  std::string mask_entry;  // text in CUDA_VISIBLE_DEVICES; empty when that is unset
  CudaDevice device;
};

struct VisibleDevices {
  std::vector<VisibleDevice> devices;
  std::vector<std::string> notes;  // what the mask left out and why, for people
  bool order_known = true;         // false: CUDA sorts different GPUs by speed and only it knows how
};

// The rules of the CUDA runtime: a list of indices, UUIDs (an unambiguous prefix is enough) or MIG instances,
// of one kind; the first entry that names nothing ends the list; an entry that is repeated empties it; only
// the first MIG instance counts. `mask` unset: all GPUs. `device_order`: CUDA_DEVICE_ORDER, by default
// FASTEST_FIRST.
VisibleDevices apply_visible_devices(const std::vector<CudaDevice>& devices,
                                     const std::optional<std::string>& mask, const std::string& device_order);

struct HostResources {
  int allowed_cores = 1;              // of the affinity mask
  int machine_cores = 0;              // switched on in the machine; 0: unknown
  std::optional<double> quota_cores;  // cgroup CPU quota
  // MKL_NUM_THREADS, else OMP_NUM_THREADS: the order of PyTorch.
  std::optional<int> requested_threads;
  std::string threads_variable;  // which of the two; empty: neither
  int64_t memory_bytes = 0;
  int64_t available_bytes = 0;                // without swapping; within the cgroup limit
  std::optional<int64_t> memory_limit_bytes;  // cgroup limit
  bool widens_bfloat16 = false;               // attention computes it in float32 (nn/widened.h)
  // Whole cores that may be kept busy: at least 1.
  int usable_cores() const;
  // The smaller of memory and limit.
  int64_t usable_memory_bytes() const;
};

struct Topology {
  std::vector<CudaDevice> devices;  // every GPU of the machine, PCI order
  VisibleDevices visible;
  std::optional<std::string> mask;  // CUDA_VISIBLE_DEVICES
  std::string device_order;         // CUDA_DEVICE_ORDER or its default
  std::string driver_version, cuda_version;
  std::string gpu_problem;  // GPUs are in the machine, but not usable, because…
  HostResources host;
};

// An empty mask or a first entry below 0 hides all GPUs on purpose.
bool hides_gpus(const Topology& topology);

}  // namespace hftrain::plan
