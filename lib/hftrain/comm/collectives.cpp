// Communicator: operations on tensors.
#include "hftrain/comm/communicator.h"
#include "hftrain/comm/waited.h"

namespace hftrain::comm {
namespace {

c10d::ReduceOp operator_of(Reduction reduction, const at::Tensor& tensor) {
  switch (reduction) {
    case Reduction::kSum:
      return c10d::ReduceOp::SUM;
    case Reduction::kMaximum:
      return c10d::ReduceOp::MAX;
    case Reduction::kAverage:
      if (tensor.is_floating_point()) return c10d::ReduceOp::AVG;
      throw Error(ExitCode::kInternal, "an average of integers is not defined");
  }
  throw Error(ExitCode::kInternal, "unknown reduction");
}

at::Tensor flat(const at::Tensor& tensor) {
  return tensor.dim() == 1 ? tensor : tensor.view(-1);
}

std::vector<at::Tensor> flat(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> views;
  for (const at::Tensor& tensor : tensors) views.push_back(flat(tensor));
  return views;
}

void check_lists(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs) {
  if (outputs.size() == inputs.size()) return;
  throw Error(ExitCode::kInternal, "a collective got lists of different length")
      .why(std::to_string(outputs.size()) + " outputs, " + std::to_string(inputs.size()) + " inputs");
}

}  // namespace

void PendingOperation::wait() {
  try {
    const CountsAsWaiting waiting;
    for (const auto& work : works_) work->wait();
  } catch (...) {
    communicator_->rethrow(std::current_exception(), operation_);
  }
  works_.clear();
  communicator_->throw_if_given_up();
}

void Communicator::check(const at::Tensor& tensor) const {
  if (tensor.is_contiguous() && tensor.device().type() == device().type()) return;
  throw Error(ExitCode::kInternal, "a collective got a tensor that is not contiguous or on another device")
      .why("tensor on " + tensor.device().str() + ", group on " + device().str());
}

void Communicator::check_parts(const at::Tensor& whole, const at::Tensor& part) const {
  check(whole);
  check(part);
  if (whole.numel() == part.numel() * world_size() && whole.scalar_type() == part.scalar_type()) return;
  throw Error(ExitCode::kInternal, "a collective got tensors that do not match")
      .why("the whole has " + std::to_string(whole.numel()) + " elements, each of " +
           std::to_string(world_size()) + " parts " + std::to_string(part.numel()));
}

template <typename Start>
PendingOperation Communicator::issue(const Start& start) const {
  throw_if_given_up();
  return guard([&] {
    ObservedBackend::Works works = start();
    return PendingOperation(*this, backend_->last_operation(), std::move(works));
  });
}

PendingOperation Communicator::all_reduce_async(const at::Tensor& tensor, Reduction reduction) {
  check(tensor);
  c10d::AllreduceOptions options;
  options.reduceOp = operator_of(reduction, tensor);
  std::vector<at::Tensor> tensors{tensor};
  return issue([&] { return ObservedBackend::Works{backend_->allreduce(tensors, options)}; });
}

PendingOperation Communicator::broadcast_async(const at::Tensor& tensor, int root) {
  check(tensor);
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> tensors{tensor};
  return issue([&] { return ObservedBackend::Works{backend_->broadcast(tensors, options)}; });
}

PendingOperation Communicator::all_gather_async(const at::Tensor& output, const at::Tensor& input) {
  check_parts(output, input);
  at::Tensor target = flat(output), source = flat(input);
  return issue([&] { return ObservedBackend::Works{backend_->_allgather_base(target, source, {})}; });
}

PendingOperation Communicator::reduce_scatter_async(const at::Tensor& output, const at::Tensor& input,
                                                    Reduction reduction) {
  check_parts(input, output);
  c10d::ReduceScatterOptions options;
  options.reduceOp = operator_of(reduction, input);
  at::Tensor target = flat(output), source = flat(input);
  return issue(
      [&] { return ObservedBackend::Works{backend_->_reduce_scatter_base(target, source, options)}; });
}

PendingOperation Communicator::all_gather_async(const std::vector<at::Tensor>& outputs,
                                                const std::vector<at::Tensor>& inputs) {
  check_lists(outputs, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) check_parts(outputs[i], inputs[i]);
  return issue([&] { return backend_->all_gather_pairs(flat(outputs), flat(inputs)); });
}

PendingOperation Communicator::reduce_scatter_async(const std::vector<at::Tensor>& outputs,
                                                    const std::vector<at::Tensor>& inputs,
                                                    Reduction reduction) {
  check_lists(outputs, inputs);
  c10d::ReduceScatterOptions options;
  for (size_t i = 0; i < outputs.size(); ++i) {
    check_parts(inputs[i], outputs[i]);
    options.reduceOp = operator_of(reduction, inputs[i]);
  }
  return issue([&] { return backend_->reduce_scatter_pairs(flat(outputs), flat(inputs), options); });
}

void Communicator::all_reduce(const at::Tensor& tensor, Reduction reduction) {
  all_reduce_async(tensor, reduction).wait();
}

void Communicator::broadcast(const at::Tensor& tensor, int root) {
  broadcast_async(tensor, root).wait();
}

void Communicator::all_gather(const at::Tensor& output, const at::Tensor& input) {
  all_gather_async(output, input).wait();
}

void Communicator::reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduction reduction) {
  reduce_scatter_async(output, input, reduction).wait();
}

void Communicator::gather(const at::Tensor& output, const at::Tensor& input, int root) {
  check(input);
  c10d::GatherOptions options;
  options.rootRank = root;
  std::vector<std::vector<at::Tensor>> outputs;
  if (root == rank()) {
    check_parts(output, input);
    outputs.push_back(output.view({world_size(), input.numel()}).unbind());
  }
  std::vector<at::Tensor> inputs{flat(input)};
  issue([&] { return ObservedBackend::Works{backend_->gather(outputs, inputs, options)}; }).wait();
}

void Communicator::all_to_all(const at::Tensor& output, const at::Tensor& input) {
  check(output);
  check(input);
  if (output.numel() != input.numel() || output.scalar_type() != input.scalar_type() ||
      input.numel() % world_size() != 0) {
    throw Error(ExitCode::kInternal, "an all-to-all got tensors that do not match")
        .why(std::to_string(input.numel()) + " elements in, " + std::to_string(output.numel()) +
             " out, in parts for " + std::to_string(world_size()) + " ranks");
  }
  at::Tensor target = flat(output), source = flat(input);
  std::vector<int64_t> equal;
  issue([&] {
    return ObservedBackend::Works{backend_->alltoall_base(target, source, equal, equal, {})};
  }).wait();
}

void Communicator::barrier() {
  c10d::BarrierOptions options;
  if (!device().is_cpu()) options.device = device();
  issue([&] { return ObservedBackend::Works{backend_->barrier(options)}; }).wait();
}

}  // namespace hftrain::comm
