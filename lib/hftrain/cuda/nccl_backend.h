// Collectives between GPUs: LibTorch's ProcessGroupNCCL.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>

namespace c10d {
class Backend;
class Store;
class Work;
}  // namespace c10d

namespace hftrain::cuda {

// Connects to the other ranks now rather than at the first collective. `device` must be current. NCCL aborts a collective that
// outlives twice `timeout` and a minute; the deadline itself is comm's watch's to keep (comm/work_watch.h).
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(c10::intrusive_ptr<c10d::Store> store, int rank,
                                                    int world_size, c10::Device device,
                                                    std::chrono::milliseconds timeout);

// The same work of NCCL for whoever asks whether it is over: it knows the events and the communicator, and holds no tensor. A work holds
// its outputs as long as it lives.
c10::intrusive_ptr<c10d::Work> without_outputs(const c10::intrusive_ptr<c10d::Work>& work);

}  // namespace hftrain::cuda
