// A device's first memory, by which it is known how its allocator may take more.
#pragma once

#include <functional>

#include "hftrain/base/logger.h"

namespace hftrain::runtime {

// Calls `take`, which allocates on the current device. Segments that grow (numerics.h) need virtual memory of the driver, which some
// virtual GPUs and containers refuse: what fails with them is tried once more without, and if that succeeds they stay off, which is a
// warning. Throws what `take` does. Before there are other threads that allocate there.
void take_first_memory(const std::function<void()>& take, const Logger& logger);

}  // namespace hftrain::runtime
