// Which device a thread of this process works for.
#pragma once

#include <c10/core/Device.h>

namespace hftrain::runtime {

// For a thread that is begun beside that of the training, before it asks for pinned memory or an event: LibTorch then looks whether events
// are over, and does so on the thread's own device, which is the first of the process unless it is said. The rank would make a context
// there, some 500 MiB of a GPU that is another rank's. Nothing on the CPU.
void work_for(c10::Device device);

}  // namespace hftrain::runtime
