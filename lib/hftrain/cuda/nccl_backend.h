// Collectives between GPUs: LibTorch's ProcessGroupNCCL.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace hftrain::cuda {

// Connects to the other ranks now rather than at the first collective. `device` must be current. A collective
// that outlives `timeout` ends the process (runtime/numerics.cpp says why).
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(c10::intrusive_ptr<c10d::Store> store, int rank,
                                                    int world_size, c10::Device device,
                                                    std::chrono::milliseconds timeout);

}  // namespace hftrain::cuda
