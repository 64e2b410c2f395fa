// Memory metrics of the stages of a run (--skip_memory_metrics false; TrainerMemoryTracker of transformers).
#pragma once

#include <string>

#include "hftrain/base/json.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/worker_context.h"

namespace hftrain::trainer {

// One after the other, never overlapping: each stage restarts the peaks, and the highest of all are kept. A
// stage inside another one counts for that one and is not begun. Without `wanted` nothing is asked or added.
class MemoryStages {
 public:
  // Begins the stage "init".
  MemoryStages(const runtime::WorkerContext& context, bool wanted);

  void begin();
  // Adds <stage>_mem_{cpu,gpu}_{alloc,peaked}_delta in bytes of the stage that ends now; gpu only on a GPU.
  // The first one also tells of "init", which ended when it began, and of before_init_mem_{cpu,gpu}.
  void end(const std::string& stage, Json& metrics);

  // The highest ever, whatever was restarted.
  int64_t peak_host_bytes() const;
  int64_t peak_device_bytes() const;

 private:
  struct Memory {
    int64_t allocated = 0, peak = 0;
  };
  Memory host() const;
  Memory device() const;
  void restart();
  void add(const std::string& stage, Json& metrics) const;

  const runtime::WorkerContext& context_;
  bool wanted_;
  bool in_init_ = true;
  Memory host_, device_;           // when the stage began; their peaks: of all stages before
  Json of_init_ = Json::object();  // until somebody is told
};

}  // namespace hftrain::trainer
