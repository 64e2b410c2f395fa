#include "hftrain/comm/observed_backend.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "hftrain/comm/waited.h"

namespace hftrain::comm {
namespace {

// Of transports without a thread of their own this is the whole operation.
template <typename Start>
auto waiting_for(const Start& start) {
  const CountsAsWaiting waiting;
  return start();
}

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

void ObservedBackend::watch_with(WorkWatch& watch, c10::Device device, WorkWatch::StandIn stand_in) {
  watch_ = &watch;
  device_ = device;
  stand_in_ = std::move(stand_in);
}

ObservedBackend::Begun ObservedBackend::begin(const char* name, int64_t bytes, int64_t sent) {
  traffic_->add(sent);
  if (status_ != nullptr && watch_ == nullptr) status_->begin_operation(name, bytes);
  Begun begun;
  if (watch_ != nullptr && !device_.is_cpu()) {
    begun.reached.emplace(device_.type());
    begun.reached->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  const std::lock_guard lock(mutex_);
  begun.operation = last_ = {name, last_.sequence + 1, bytes};
  return begun;
}

template <typename Start>
auto ObservedBackend::observe(const char* name, int64_t bytes, int64_t sent, const Start& start) {
  Begun begun = begin(name, bytes, sent);
  auto works = waiting_for(start);
  if (watch_ == nullptr) return works;
  if constexpr (std::is_same_v<decltype(works), Works>) {
    watch(std::move(begun), works);
  } else {
    watch(std::move(begun), {works});
  }
  return works;
}

void ObservedBackend::watch(Begun begun, Works works) {
  if (stand_in_) std::ranges::transform(works, works.begin(), stand_in_);
  watch_->add(std::move(begun.operation), std::move(works), std::move(begun.reached));
}

ObservedBackend::Works ObservedBackend::all_gather_pairs(std::vector<at::Tensor> outputs,
                                                         std::vector<at::Tensor> inputs) {
  const int64_t bytes = total_bytes(outputs);
  return observe("all-gather", bytes, ring(bytes, 1), [&]() -> Works {
    if (observed_->supportsCoalescing()) {
      return {observed_->allgather_into_tensor_coalesced(outputs, inputs, {})};
    }
    Works works;
    for (size_t i = 0; i < outputs.size(); ++i) {
      works.push_back(observed_->_allgather_base(outputs[i], inputs[i], {}));
    }
    return works;
  });
}

ObservedBackend::Works ObservedBackend::reduce_scatter_pairs(std::vector<at::Tensor> outputs,
                                                             std::vector<at::Tensor> inputs,
                                                             const c10d::ReduceScatterOptions& options) {
  const int64_t bytes = total_bytes(inputs);
  return observe("reduce-scatter", bytes, ring(bytes, 1), [&]() -> Works {
    if (observed_->supportsCoalescing()) {
      return {observed_->reduce_scatter_tensor_coalesced(outputs, inputs, options)};
    }
    Works works;
    for (size_t i = 0; i < outputs.size(); ++i) {
      works.push_back(observed_->_reduce_scatter_base(outputs[i], inputs[i], options));
    }
    return works;
  });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                          const c10d::AllreduceOptions& options) {
  const int64_t bytes = total_bytes(tensors);
  return observe("all-reduce", bytes, ring(bytes, 2), [&] { return observed_->allreduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                          const c10d::BroadcastOptions& options) {
  const int64_t bytes = total_bytes(tensors);
  return observe("broadcast", bytes, ring(bytes, 1), [&] { return observed_->broadcast(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                          std::vector<at::Tensor>& inputs,
                                                          const c10d::AllgatherOptions& options) {
  const int64_t bytes = total_bytes(inputs) * getSize();
  return observe("all-gather", bytes, ring(bytes, 1),
                 [&] { return observed_->allgather(outputs, inputs, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                                const c10d::AllgatherOptions& options) {
  const int64_t bytes = static_cast<int64_t>(output.nbytes());
  return observe("all-gather", bytes, ring(bytes, 1),
                 [&] { return observed_->_allgather_base(output, input, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) {
  const int64_t bytes = static_cast<int64_t>(input.nbytes());
  return observe("reduce-scatter", bytes, ring(bytes, 1),
                 [&] { return observed_->_reduce_scatter_base(output, input, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                                       std::vector<at::Tensor>& inputs,
                                                       const c10d::GatherOptions& options) {
  const int64_t own = total_bytes(inputs);
  return observe("gather", own * getSize(), options.rootRank == getRank() ? 0 : own,
                 [&] { return observed_->gather(outputs, inputs, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                              std::vector<int64_t>& output_sizes,
                                                              std::vector<int64_t>& input_sizes,
                                                              const c10d::AllToAllOptions& options) {
  const int64_t bytes = static_cast<int64_t>(input.nbytes());
  return observe("all-to-all", bytes, ring(bytes, 1),
                 [&] { return observed_->alltoall_base(output, input, output_sizes, input_sizes, options); });
}

c10::intrusive_ptr<c10d::Work> ObservedBackend::barrier(const c10d::BarrierOptions& options) {
  const int64_t bytes = 0;
  return observe("barrier", bytes, ring(bytes, 0), [&] { return observed_->barrier(options); });
}

}  // namespace hftrain::comm
