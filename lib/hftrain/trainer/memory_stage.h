// Memory metrics of one stage of a run (--skip_memory_metrics false; outputs.md 8.8 of the contract).
#pragma once

#include <string>

#include "hftrain/base/json.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/worker_context.h"

namespace hftrain::trainer {

// Begins when made. Without `wanted` nothing is asked or added. Stages must not overlap: each restarts the
// peaks.
class MemoryStage {
 public:
  MemoryStage(const runtime::WorkerContext& context, bool wanted);

  // <stage>_mem_{cpu,gpu}_{alloc,peaked}_delta in bytes; gpu only on a GPU.
  void add_to(Json& metrics, const std::string& stage) const;

 private:
  const runtime::WorkerContext& context_;
  bool wanted_;
  runtime::HostMemory host_;
  runtime::DeviceMemory device_;
};

}  // namespace hftrain::trainer
