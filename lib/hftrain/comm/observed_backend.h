// A backend that passes everything on to another one and keeps account: which operation was issued last, and
// how many bytes a rank sends by the cost of a ring. LibTorch's Reducer and our own code share one process
// group, so this is where all traffic of a rank goes by.
//
// Bytes sent per rank, W ranks, B bytes of the tensor that every rank holds whole:
//   all-reduce 2B(W-1)/W    reduce-scatter, all-gather, broadcast, all-to-all B(W-1)/W    barrier 0
//   gather B/W, at the root 0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

#include "hftrain/base/status_page.h"
#include "hftrain/comm/work_watch.h"

namespace hftrain::comm {

// What a rank has sent over a group and all its sub-groups. Any thread.
class Traffic {
 public:
  explicit Traffic(std::shared_ptr<Traffic> outer = nullptr) : outer_(std::move(outer)) {}
  int64_t bytes() const { return bytes_; }
  void add(int64_t bytes) {
    bytes_ += bytes;
    if (outer_) outer_->add(bytes);
  }

 private:
  std::shared_ptr<Traffic> outer_;
  std::atomic<int64_t> bytes_ = 0;
};

// Calls may come from any thread (the Reducer's come from the backward pass).
class ObservedBackend final : public c10d::Backend {
 public:
  // What has to be waited for until an operation is over.
  using Works = WorkWatch::Works;

  // `status`, which may be null, is told of every operation as it begins.
  ObservedBackend(c10::intrusive_ptr<c10d::Backend> observed, std::shared_ptr<Traffic> traffic,
                  StatusPage* status);

  // From now on operations are handed to `watch`, which tells the status page in this object's place, with the point that
  // `device` has to reach before them. `watch` outlives the last operation. `stand_in` may be empty.
  void watch_with(WorkWatch& watch, c10::Device device, WorkWatch::StandIn stand_in);

  Operation last_operation() const;
  // Many pairs as one operation: at once where the transport can, otherwise pair by pair.
  Works all_gather_pairs(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs);
  Works reduce_scatter_pairs(std::vector<at::Tensor> outputs, std::vector<at::Tensor> inputs,
                             const c10d::ReduceScatterOptions& options);

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
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>>& outputs,
                                        std::vector<at::Tensor>& inputs,
                                        const c10d::GatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<int64_t>& output_sizes,
                                               std::vector<int64_t>& input_sizes,
                                               const c10d::AllToAllOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;
  void abort() override { observed_->abort(); }
  void shutdown() override { observed_->shutdown(); }

 private:
  struct Begun {
    Operation operation;
    std::optional<c10::Event> reached;
  };

  // `passes`: how often every byte crosses the ring.
  int64_t ring(int64_t bytes, int passes) const { return passes * bytes * (getSize() - 1) / getSize(); }
  // Notes the operation that `start` issues and returns as Work or Works.
  template <typename Start>
  auto observe(const char* name, int64_t bytes, int64_t sent, const Start& start);
  Begun begin(const char* name, int64_t bytes, int64_t sent);
  void watch(Begun begun, Works works);

  c10::intrusive_ptr<c10d::Backend> observed_;
  std::shared_ptr<Traffic> traffic_;
  StatusPage* status_;
  WorkWatch* watch_ = nullptr;
  WorkWatch::StandIn stand_in_;
  c10::Device device_{c10::DeviceType::CPU};
  mutable std::mutex mutex_;
  Operation last_;
};

}  // namespace hftrain::comm
