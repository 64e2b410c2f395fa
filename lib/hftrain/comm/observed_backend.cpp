#include "hftrain/comm/observed_backend.h"

namespace hftrain::comm {
namespace {

int64_t total_bytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

ObservedBackend::ObservedBackend(c10::intrusive_ptr<c10d::Backend> observed)
    : Backend(observed->getRank(), observed->getSize()), observed_(std::move(observed)) {}

Operation ObservedBackend::last_operation() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

int64_t ObservedBackend::bytes_sent() const {
  const std::lock_guard lock(mutex_);
  return bytes_sent_;
}

void ObservedBackend::note(const char* name, int64_t bytes, int passes) {
  const std::lock_guard lock(mutex_);
  last_ = {name, last_.sequence + 1, bytes};
  bytes_sent_ += passes * bytes * (getSize() - 1) / getSize();
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                          const c10d::AllreduceOptions& options) {
  note("all-reduce", total_bytes(tensors), 2);
  return observed_->allreduce(tensors, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                          const c10d::BroadcastOptions& options) {
  note("broadcast", total_bytes(tensors), 1);
  return observed_->broadcast(tensors, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                          std::vector<at::Tensor>& inputs,
                                                          const c10d::AllgatherOptions& options) {
  note("all-gather", total_bytes(inputs) * getSize(), 1);
  return observed_->allgather(outputs, inputs, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                                const c10d::AllgatherOptions& options) {
  note("all-gather", static_cast<int64_t>(output.nbytes()), 1);
  return observed_->_allgather_base(output, input, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  note("reduce-scatter", static_cast<int64_t>(input.nbytes()), 1);
  return observed_->_reduce_scatter_base(output, input, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::barrier(const c10d::BarrierOptions& options) {
  note("barrier", 0, 0);
  return observed_->barrier(options);
}

}  // namespace hftrain::comm
