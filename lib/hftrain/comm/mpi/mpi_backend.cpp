#include "hftrain/comm/mpi/mpi_backend.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace hftrain::comm {
namespace {

using Future = c10::ivalue::Future;

// What the issuer of an operation gets, and LibTorch's Reducer through the future.
class MpiWork final : public c10d::Work {
 public:
  explicit MpiWork(c10::intrusive_ptr<Future> future) : future_(std::move(future)) {}
  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->hasValue(); }
  std::exception_ptr exception() const override { return future_->exception_ptr(); }
  // The operation itself keeps the deadline of the group.
  bool wait(std::chrono::milliseconds) override {
    future_->waitAndThrow();
    return true;
  }
  std::vector<at::Tensor> result() override { return future_->value().toTensorVector(); }
  c10::intrusive_ptr<Future> getFuture() override { return future_; }

 private:
  c10::intrusive_ptr<Future> future_;
};

// One operation, from its issue to its end.
template <typename Body>
struct Task {
  std::shared_ptr<MpiLink> link;
  c10::intrusive_ptr<Future> future;
  std::vector<at::Tensor> tensors;
  Body body;

  void operator()() {
    try {
      body(link->collectives);
      --link->pending;
      future->markCompleted(c10::IValue(tensors));
    } catch (const std::exception&) {
      link->collectives.abort();
      // MPI may still write to their memory, so it is never given back.
      static_cast<void>(new std::vector<at::Tensor>(tensors));
      future->setError(std::current_exception());
    }
  }
};

}  // namespace

template <typename Body>
c10::intrusive_ptr<c10d::Work> MpiBackend::run(std::vector<at::Tensor> tensors, Body body) {
  auto future = c10::make_intrusive<Future>(c10::ListType::ofTensors());
  ++link_->pending;
  thread_->post(Task<Body>{link_, future, std::move(tensors), std::move(body)});
  return c10::make_intrusive<MpiWork>(std::move(future));
}

MpiBackend::MpiBackend(const BackendRequest& request, std::shared_ptr<MpiThread> thread)
    : MemoryBackend(request.rank, request.world_size), thread_(std::move(thread)) {
  link_ = thread_->call("the connection of the ranks over MPI", request.timeout,
                        [request] { return std::make_shared<MpiLink>(request); });
}

MpiBackend::~MpiBackend() {
  leave();
}

// Whoever leaves while operations are under way does so because of a failure, and does not wait for them. The
// communicator is freed on the thread.
void MpiBackend::leave() noexcept {
  if (!link_) return;
  if (link_->pending > 0) link_->collectives.abort();
  thread_->post([link = std::move(link_)] {});
  thread_.reset();
}

}  // namespace hftrain::comm
