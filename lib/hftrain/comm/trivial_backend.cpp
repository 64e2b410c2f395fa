#include "hftrain/comm/trivial_backend.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

namespace hftrain::comm {
namespace {

c10::intrusive_ptr<c10d::Work> finished(const std::vector<at::Tensor>& outputs) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
  future->markCompleted(c10::IValue(outputs));
  return c10d::Work::create_from_future(future);
}

}  // namespace

c10::intrusive_ptr<c10d::Work> TrivialBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                         const c10d::AllreduceOptions&) {
  return finished(tensors);
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                         const c10d::BroadcastOptions&) {
  return finished(tensors);
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                         std::vector<at::Tensor>& inputs,
                                                         const c10d::AllgatherOptions&) {
  for (size_t i = 0; i < inputs.size(); ++i) outputs[i].at(0).copy_(inputs[i]);
  return finished(inputs);
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                               const c10d::AllgatherOptions&) {
  output.view(-1).copy_(input.view(-1));
  return finished({output});
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                    const c10d::ReduceScatterOptions&) {
  output.view(-1).copy_(input.view(-1));
  return finished({output});
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                                      std::vector<at::Tensor>& inputs,
                                                      const c10d::GatherOptions&) {
  outputs.at(0).at(0).copy_(inputs.at(0));
  return finished(outputs[0]);
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                             std::vector<int64_t>&, std::vector<int64_t>&,
                                                             const c10d::AllToAllOptions&) {
  output.view(-1).copy_(input.view(-1));
  return finished({output});
}

c10::intrusive_ptr<c10d::Work> TrivialBackend::barrier(const c10d::BarrierOptions&) {
  return finished({});
}

}  // namespace hftrain::comm
