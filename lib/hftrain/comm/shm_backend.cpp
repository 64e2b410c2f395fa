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

std::byte* memory_of(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes());
}

void check_memory(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.is_contiguous() && tensor.device().is_cpu() && !tensor.is_sparse(),
                    "shared memory moves contiguous tensors of the CPU");
}

GatherPair gather_pair(const at::Tensor& output, const at::Tensor& input, int world_size) {
  check_memory(output);
  check_memory(input);
  TORCH_CHECK_VALUE(bytes_of(output) == bytes_of(input) * world_size, "an all-gather of another size");
  GatherPair pair{memory_of(input), {}, bytes_of(input)};
  for (int rank = 0; rank < world_size; ++rank) pair.parts.push_back(memory_of(output) + rank * pair.bytes);
  return pair;
}

GatherPair gather_pair(const std::vector<at::Tensor>& outputs, const at::Tensor& input) {
  check_memory(input);
  GatherPair pair{memory_of(input), {}, bytes_of(input)};
  for (const at::Tensor& output : outputs) {
    check_memory(output);
    TORCH_CHECK_VALUE(bytes_of(output) == pair.bytes, "a gather of tensors of different size");
    pair.parts.push_back(memory_of(output));
  }
  return pair;
}

std::vector<at::Tensor> joined(std::vector<at::Tensor> first, const std::vector<at::Tensor>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_shm_backend(const BackendRequest& request) {
  return c10::make_intrusive<ShmBackend>(request);
}

ShmBackend::ShmBackend(const BackendRequest& request)
    : Backend(request.rank, request.world_size), collectives_(request) {}

// A failure ends the group on all ranks. It is reported by whoever waits.
template <typename Body>
c10::intrusive_ptr<c10d::Work> ShmBackend::run(std::vector<at::Tensor> tensors, const Body& body) {
  try {
    body();
    return c10::make_intrusive<ShmWork>(std::move(tensors), nullptr);
  } catch (const std::exception&) {
    collectives_.abort();
    return c10::make_intrusive<ShmWork>(std::move(tensors), std::current_exception());
  }
}

Reducible ShmBackend::how(const at::Tensor& tensor, const c10d::ReduceOp& op) const {
  const at::ScalarType type = tensor.scalar_type();
  TORCH_CHECK_VALUE(can_reduce(type), "shared memory does not reduce ", type);
  const auto operation = static_cast<c10d::ReduceOp::RedOpType>(op);
  switch (operation) {
    case c10d::ReduceOp::SUM:
      return {type, Combine::kSum};
    case c10d::ReduceOp::AVG:
      TORCH_CHECK_VALUE(at::isFloatingType(type), "an average of integers is not defined");
      return {type, Combine::kSum, 1.0 / getSize()};
    case c10d::ReduceOp::PRODUCT:
      return {type, Combine::kProduct};
    case c10d::ReduceOp::MIN:
      return {type, Combine::kMinimum};
    case c10d::ReduceOp::MAX:
      return {type, Combine::kMaximum};
    default:
      TORCH_CHECK_VALUE(false, "shared memory does not know this reduction");
  }
}

ScatterPair ShmBackend::scatter_pair(const at::Tensor& output, const at::Tensor& input,
                                     const c10d::ReduceOp& op) const {
  check_memory(output);
  check_memory(input);
  TORCH_CHECK_VALUE(input.numel() == output.numel() * getSize(), "a reduce-scatter of another size");
  return {memory_of(output), memory_of(input), output.numel(), static_cast<int64_t>(output.element_size()),
          how(input, op)};
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceOptions& options) {
  const at::Tensor& tensor = tensors.at(0);
  check_memory(tensor);
  return run(tensors, [this, &tensor, way = how(tensor, options.reduceOp)] {
    collectives_.all_reduce(memory_of(tensor), tensor.numel(), static_cast<int64_t>(tensor.element_size()),
                            way);
  });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                     const c10d::BroadcastOptions& options) {
  const at::Tensor& tensor = tensors.at(0);
  check_memory(tensor);
  return run(tensors, [this, &tensor, root = static_cast<int>(options.rootRank)] {
    collectives_.broadcast(memory_of(tensor), bytes_of(tensor), root);
  });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs,
                                                     const c10d::AllgatherOptions&) {
  const GatherPair pair = gather_pair(outputs.at(0), inputs.at(0));
  TORCH_CHECK_VALUE(pair.parts.size() == static_cast<size_t>(getSize()), "an output for every rank");
  return run(joined(outputs[0], inputs), [&] { collectives_.all_gather(pair); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                           const c10d::AllgatherOptions&) {
  const GatherPair pair = gather_pair(output, input, getSize());
  return run({output, input}, [&] { collectives_.all_gather(pair); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                                           std::vector<at::Tensor>& inputs,
                                                                           const c10d::AllgatherOptions&) {
  std::vector<GatherPair> pairs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    pairs.push_back(gather_pair(outputs[i], inputs.at(i), getSize()));
  }
  return run(joined(outputs, inputs), [&] { collectives_.all_gather(pairs); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::gather(std::vector<std::vector<at::Tensor>>& outputs,
                                                  std::vector<at::Tensor>& inputs,
                                                  const c10d::GatherOptions& options) {
  const auto root = static_cast<int>(options.rootRank);
  std::vector<at::Tensor> received = root == getRank() ? outputs.at(0) : std::vector<at::Tensor>{};
  GatherPair pair = gather_pair(received, inputs.at(0));
  return run(joined(received, inputs), [&] { collectives_.gather(pair, root); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                const c10d::ReduceScatterOptions& options) {
  const ScatterPair pair = scatter_pair(output, input, options.reduceOp);
  return run({output, input}, [&] { collectives_.reduce_scatter(pair); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::reduce_scatter_tensor_coalesced(
    std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
    const c10d::ReduceScatterOptions& options) {
  std::vector<ScatterPair> pairs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    pairs.push_back(scatter_pair(outputs[i], inputs.at(i), options.reduceOp));
  }
  return run(joined(outputs, inputs), [&] { collectives_.reduce_scatter(pairs); });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                         std::vector<int64_t>& output_sizes,
                                                         std::vector<int64_t>& input_sizes,
                                                         const c10d::AllToAllOptions&) {
  check_memory(output);
  check_memory(input);
  TORCH_CHECK_VALUE(output_sizes.empty() && input_sizes.empty() && bytes_of(output) == bytes_of(input) &&
                        bytes_of(input) % getSize() == 0,
                    "an all-to-all over shared memory has parts of equal size");
  return run({output, input}, [&] {
    collectives_.all_to_all(memory_of(output), memory_of(input), bytes_of(input) / getSize());
  });
}

c10::intrusive_ptr<c10d::Work> ShmBackend::barrier(const c10d::BarrierOptions&) {
  return run({}, [&] { collectives_.barrier(); });
}

}  // namespace hftrain::comm
