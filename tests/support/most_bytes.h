// The most memory that tensors of the CPU take at a time, counted at LibTorch's allocator.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace hftrain::testing {

class MostBytes final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void* /*at*/, int64_t bytes, size_t /*used*/, size_t /*reserved*/,
                         c10::Device /*device*/) override {
    bytes_ += bytes;
    most_ = std::max(most_, bytes_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t most() const { return most_; }

 private:
  int64_t bytes_ = 0, most_ = 0;
};

// Beside what is there when `work` begins.
template <typename Work>
int64_t most_bytes(const Work& work) {
  const auto counting = std::make_shared<MostBytes>();
  const c10::DebugInfoGuard counted(c10::DebugInfoKind::PROFILER_STATE, counting);
  work();
  return counting->most();
}

}  // namespace hftrain::testing
