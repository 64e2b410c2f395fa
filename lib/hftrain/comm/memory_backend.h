// What the backends that move memory of the CPU have in common: the operations of c10d become operations on
// memory. A backend derives from it and says where and when they run:
//
//   class ShmBackend final : public MemoryBackend<ShmBackend> {
//     // Calls body(collectives), keeping the tensors alive until it is over; they are the work's result.
//     template <typename Body>
//     c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, Body body);
//   };
//
// `collectives` has all_gather, gather, broadcast, reduce_scatter, all_reduce, all_to_all and barrier as
// ShmCollectives has them. What does not fit throws c10::ValueError before anything runs.
#pragma once

#include <c10/util/Exception.h>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "hftrain/comm/memory_pairs.h"

namespace hftrain::comm {

template <typename Derived>
class MemoryBackend : public c10d::Backend {
 public:
  using Backend::Backend;
  using Tensors = std::vector<at::Tensor>;
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  bool supportsCoalescing() const override { return true; }

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    const at::Tensor& tensor = tensors.at(0);
    return run(tensors, [memory = memory_of(tensor), elements = tensor.numel(),
                         size = static_cast<int64_t>(tensor.element_size()),
                         how = reducible(tensor, options.reduceOp, getSize())](auto& collectives) {
      collectives.all_reduce(memory, elements, size, how);
    });
  }
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    const at::Tensor& tensor = tensors.at(0);
    return run(tensors, [memory = memory_of(tensor), bytes = bytes_of(tensor),
                         root = static_cast<int>(options.rootRank)](auto& collectives) {
      collectives.broadcast(memory, bytes, root);
    });
  }
  WorkPointer allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                        const c10d::AllgatherOptions&) override {
    GatherPair pair = gather_pair(outputs.at(0), inputs.at(0));
    TORCH_CHECK_VALUE(pair.parts.size() == static_cast<size_t>(getSize()), "an output for every rank");
    return run(joined(outputs[0], inputs),
               [pair = std::move(pair)](auto& collectives) { collectives.all_gather(pair); });
  }
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) override {
    return run({output, input}, [pair = gather_pair(output, input, getSize())](auto& collectives) {
      collectives.all_gather(pair);
    });
  }
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions&) override {
    std::vector<GatherPair> pairs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      pairs.push_back(gather_pair(outputs[i], inputs.at(i), getSize()));
    }
    return run(joined(outputs, inputs),
               [pairs = std::move(pairs)](auto& collectives) { collectives.all_gather(pairs); });
  }
  WorkPointer gather(std::vector<Tensors>& outputs, Tensors& inputs,
                     const c10d::GatherOptions& options) override {
    const auto root = static_cast<int>(options.rootRank);
    const Tensors received = root == getRank() ? outputs.at(0) : Tensors{};
    return run(joined(received, inputs), [pair = gather_pair(received, inputs.at(0)),
                                          root](auto& collectives) { collectives.gather(pair, root); });
  }
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override {
    return run({output, input}, [pair = scatter_pair(output, input, options.reduceOp, getSize())](
                                    auto& collectives) { collectives.reduce_scatter(pair); });
  }
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override {
    std::vector<ScatterPair> pairs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      pairs.push_back(scatter_pair(outputs[i], inputs.at(i), options.reduceOp, getSize()));
    }
    return run(joined(outputs, inputs),
               [pairs = std::move(pairs)](auto& collectives) { collectives.reduce_scatter(pairs); });
  }
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_sizes,
                            std::vector<int64_t>& input_sizes, const c10d::AllToAllOptions&) override {
    TORCH_CHECK_VALUE(output_sizes.empty() && input_sizes.empty() && bytes_of(output) == bytes_of(input) &&
                          bytes_of(input) % getSize() == 0,
                      "an all-to-all of this backend has parts of equal size");
    return run({output, input},
               [to = memory_of(output), from = memory_of(input), bytes = bytes_of(input) / getSize()](
                   auto& collectives) { collectives.all_to_all(to, from, bytes); });
  }
  WorkPointer barrier(const c10d::BarrierOptions&) override {
    return run({}, [](auto& collectives) { collectives.barrier(); });
  }

 private:
  template <typename Body>
  WorkPointer run(Tensors tensors, Body body) {
    return static_cast<Derived*>(this)->run(std::move(tensors), std::move(body));
  }
  static Tensors joined(Tensors first, const Tensors& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
};

}  // namespace hftrain::comm
