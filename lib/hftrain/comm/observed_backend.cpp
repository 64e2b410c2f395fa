#include "hftrain/comm/observed_backend.h"

namespace hftrain::comm {
namespace {

int64_t total_bytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

ObservedBackend::ObservedBackend(c10::intrusive_ptr<c10d::Backend> observed, std::shared_ptr<Traffic> traffic,
                                 StatusPage* status)
    : Backend(observed->getRank(), observed->getSize()),
      observed_(std::move(observed)),
      traffic_(std::move(traffic)),
      status_(status) {}

Operation ObservedBackend::last_operation() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void ObservedBackend::note(const char* name, int64_t bytes, int passes) {
  note_sent(name, bytes, passes * bytes * (getSize() - 1) / getSize());
}

void ObservedBackend::note_sent(const char* name, int64_t bytes, int64_t sent) {
  traffic_->add(sent);
  if (status_ != nullptr) status_->begin_operation(name, bytes);
  const std::lock_guard lock(mutex_);
  last_ = {name, last_.sequence + 1, bytes};
}

ObservedBackend::Works ObservedBackend::all_gather_pairs(std::vector<at::Tensor> outputs,
                                                         std::vector<at::Tensor> inputs) {
  note("all-gather", total_bytes(outputs), 1);
  if (observed_->supportsCoalescing()) {
    return {observed_->allgather_into_tensor_coalesced(outputs, inputs, {})};
  }
  Works works;
  for (size_t i = 0; i < outputs.size(); ++i) {
    works.push_back(observed_->_allgather_base(outputs[i], inputs[i], {}));
  }
  return works;
}

ObservedBackend::Works ObservedBackend::reduce_scatter_pairs(std::vector<at::Tensor> outputs,
                                                             std::vector<at::Tensor> inputs,
                                                             const c10d::ReduceScatterOptions& options) {
  note("reduce-scatter", total_bytes(inputs), 1);
  if (observed_->supportsCoalescing()) {
    return {observed_->reduce_scatter_tensor_coalesced(outputs, inputs, options)};
  }
  Works works;
  for (size_t i = 0; i < outputs.size(); ++i) {
    works.push_back(observed_->_reduce_scatter_base(outputs[i], inputs[i], options));
  }
  return works;
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

c10::intrusive_ptr<c10d::Work> ObservedBackend::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                                       std::vector<at::Tensor>& inputs,
                                                       const c10d::GatherOptions& options) {
  const int64_t own = total_bytes(inputs);
  note_sent("gather", own * getSize(), options.rootRank == getRank() ? 0 : own);
  return observed_->gather(outputs, inputs, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                              std::vector<int64_t>& output_sizes,
                                                              std::vector<int64_t>& input_sizes,
                                                              const c10d::AllToAllOptions& options) {
  note("all-to-all", static_cast<int64_t>(input.nbytes()), 1);
  return observed_->alltoall_base(output, input, output_sizes, input_sizes, options);
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::barrier(const c10d::BarrierOptions& options) {
  note("barrier", 0, 0);
  return observed_->barrier(options);
}

}  // namespace hftrain::comm
