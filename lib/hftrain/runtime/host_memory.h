// Host memory as the kernel counts it.
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

}  // namespace hftrain::runtime
