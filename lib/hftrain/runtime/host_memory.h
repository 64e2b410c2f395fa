// Host memory: facts from the kernel, and the allocator behind CPU tensors.
#pragma once

#include <cstdint>

namespace hftrain::runtime {

// Bytes of this process in RAM, as the kernel counts them (VmRSS and VmHWM of /proc/self/status).
struct HostMemory {
  int64_t resident = 0;
  int64_t peak_resident = 0;
};

// kEnvironment if /proc is not mounted.
HostMemory host_memory();
// Makes the present resident size the new peak, so that the peak of one stage can be told apart. False where
// the kernel does not allow it; the peak then keeps counting from the start of the process.
bool restart_host_peak();

// Replaces LibTorch's CPU allocator by one that serves the same memory but throws std::bad_alloc when there
// is none left, so that running out of host memory is recognised by type. Call once, before the first tensor
// is made.
void install_host_allocator();

// Freed memory stays with the process: a training step frees and takes the same blocks again, and pages that
// go back to the kernel between two steps are faulted in and zeroed anew (a third of a step of a 124M model).
// Call once, before the first tensor is made.
void keep_freed_memory();

}  // namespace hftrain::runtime
