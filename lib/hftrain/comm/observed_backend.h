// A backend that passes everything on to another one and keeps account: which operation was issued last, and
// how many bytes a rank sends by the cost of a ring. LibTorch's Reducer and our own code share one process
// group, so this is where all traffic of a rank goes by.
//
// Bytes sent per rank, W ranks, B bytes of the tensor that every rank holds whole:
//   all-reduce 2B(W-1)/W    reduce-scatter, all-gather, broadcast B(W-1)/W    barrier 0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace hftrain::comm {

// One collective as the group counts them: the same on all ranks, since all issue the same ones in the same
// order.
struct Operation {
  std::string name;       // "all-reduce", …
  uint64_t sequence = 0;  // 1 for the first of the group
  int64_t bytes = 0;
};

// Calls may come from any thread (the Reducer's come from the backward pass).
class ObservedBackend final : public c10d::Backend {
 public:
  explicit ObservedBackend(c10::intrusive_ptr<c10d::Backend> observed);

  Operation last_operation() const;
  int64_t bytes_sent() const;

  const std::string getBackendName() const override { return observed_->getBackendName(); }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;
  void abort() override { observed_->abort(); }
  void shutdown() override { observed_->shutdown(); }

 private:
  // `passes`: how often every byte crosses the ring.
  void note(const char* name, int64_t bytes, int passes);

  c10::intrusive_ptr<c10d::Backend> observed_;
  mutable std::mutex mutex_;
  Operation last_;
  int64_t bytes_sent_ = 0;
};

}  // namespace hftrain::comm
