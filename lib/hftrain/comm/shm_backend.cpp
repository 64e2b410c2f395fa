#include "hftrain/comm/shm_backend.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

namespace hftrain::comm {
namespace {

using Future = c10::ivalue::Future;

// What the issuer of an operation gets: it is over. LibTorch's Reducer asks for a future, others wait.
class ShmWork final : public c10d::Work {
 public:
  ShmWork(std::vector<at::Tensor> tensors, std::exception_ptr failure)
      : tensors_(std::move(tensors)), failure_(std::move(failure)) {}
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return failure_ == nullptr; }
  std::exception_ptr exception() const override { return failure_; }
  bool wait(std::chrono::milliseconds) override {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return true;
  }
  std::vector<at::Tensor> result() override { return tensors_; }
  c10::intrusive_ptr<Future> getFuture() override {
    auto future = c10::make_intrusive<Future>(c10::ListType::ofTensors());
    if (failure_ != nullptr) {
      future->setError(failure_);
    } else {
      future->markCompleted(c10::IValue(tensors_));
    }
    return future;
  }

 private:
  std::vector<at::Tensor> tensors_;  // the results first
  std::exception_ptr failure_;
};

}  // namespace

// A failure ends the group on all ranks. It is reported by whoever waits.
template <typename Body>
c10::intrusive_ptr<c10d::Work> ShmBackend::run(std::vector<at::Tensor> tensors, const Body& body) {
  try {
    body(collectives_);
    return c10::make_intrusive<ShmWork>(std::move(tensors), nullptr);
  } catch (const std::exception&) {
    collectives_.abort();
    return c10::make_intrusive<ShmWork>(std::move(tensors), std::current_exception());
  }
}

c10::intrusive_ptr<c10d::Backend> make_shm_backend(const BackendRequest& request) {
  return c10::make_intrusive<ShmBackend>(request);
}

ShmBackend::ShmBackend(const BackendRequest& request)
    : MemoryBackend(request.rank, request.world_size), collectives_(request) {}

}  // namespace hftrain::comm
