// Who this rank is and what it computes on. Made once, first thing in a worker, and passed down by reference.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "hftrain/base/environment.h"
#include "hftrain/base/logger.h"
#include "hftrain/runtime/cuda_plugin.h"
#include "hftrain/runtime/device_runtime.h"
#include "hftrain/runtime/numerics.h"
#include "hftrain/runtime/tensor_memory.h"

namespace hftrain::runtime {

// What the worker reads from its plan and environment.
struct WorkerPlace {
  int rank = 0;
  int local_rank = 0;  // within the node
  int world_size = 1;
  int local_world_size = 1;     // ranks on this node
  int threads = 1;              // for the operators of this rank
  int cuda_ordinal = -1;        // position in CUDA_VISIBLE_DEVICES; -1: the CPU
  std::string cuda_plugin{};    // path of libhftrain_cuda.so; used only with a cuda_ordinal
  std::string device_uuid{};    // of the GPU that the plan gives this rank; empty: any
  Pages pages = Pages::kSmall;  // of the host's tensors
};

// kEnvironment if the GPU that was opened has another UUID than the plan's: the mask or the order of devices has changed
// since it was made. Nothing is compared where the order is CUDA's own, which the plan can only guess (neither
// CUDA_DEVICE_ORDER=PCI_BUS_ID nor UUIDs in CUDA_VISIBLE_DEVICES), nor instances of a MIG, which name their parents.
void check_device_uuid(const WorkerPlace& place, const std::string& opened, const Environment& environment);

struct WorkerContext {
  WorkerPlace place;
  c10::Device device{c10::DeviceType::CPU};
  std::unique_ptr<DeviceRuntime> device_runtime;
  const CudaPlugin* cuda = nullptr;  // set when the device is a GPU
  Logger logger;
  Environment environment{};  // of the process, credentials of trackers included
};

// Prepares this process: checks that the LibTorch it loaded is the one it was compiled for, fixes thread
// counts, loads the plug-in for a GPU and makes the GPU current, and sets the numeric switches. Once per
// process, from the main thread, before any tensor exists. kEnvironment if something is missing.
WorkerContext make_worker_context(const WorkerPlace& place, const Numerics& numerics, Logger logger);

}  // namespace hftrain::runtime
