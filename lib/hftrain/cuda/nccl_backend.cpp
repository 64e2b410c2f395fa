#include "hftrain/cuda/nccl_backend.h"

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace hftrain::cuda {

c10::intrusive_ptr<c10d::Backend> make_nccl_backend(c10::intrusive_ptr<c10d::Store> store, int rank,
                                                    int world_size, c10::Device device,
                                                    std::chrono::milliseconds timeout) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  // Deadlines are kept by comm's watch, which names who is missing; NCCL's own, which aborts the operation, comes after it.
  options->timeout = 2 * timeout + std::chrono::minutes(1);
  auto backend =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(std::move(store), rank, world_size, std::move(options));
  backend->eagerConnectSingleDevice(device);
  return backend;
}

// As LibTorch's own watchdog keeps works.
c10::intrusive_ptr<c10d::Work> without_outputs(const c10::intrusive_ptr<c10d::Work>& work) {
  using Work = c10d::ProcessGroupNCCL::WorkNCCL;
  const auto* whole = dynamic_cast<const Work*>(work.get());
  if (whole == nullptr) return work;
  return c10::make_intrusive<Work>(*whole);
}

}  // namespace hftrain::cuda
