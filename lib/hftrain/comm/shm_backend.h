// Collectives between CPU ranks of one machine through shared memory, nothing else installed.
//
// Where an operation runs: in the thread that issues it, unless operations issued before are still under way
// or `kBackgroundBytes` say that it is worth handing to the backend's own thread; either way in the order of
// issue.
#pragma once

#include <ATen/core/ivalue.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hftrain/comm/backend_table.h"
#include "hftrain/comm/shm_collectives.h"

namespace hftrain::comm {

// Connects all ranks of the group before it returns. kEnvironment when they cannot see each other's memory.
c10::intrusive_ptr<c10d::Backend> make_shm_backend(const BackendRequest& request);

// Any thread may wait; one at a time issues.
class ShmBackend final : public c10d::Backend {
 public:
  explicit ShmBackend(const BackendRequest& request);
  ~ShmBackend() override;

  const std::string getBackendName() const override { return "shm"; }
  bool supportsCoalescing() const override { return true; }
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather_into_tensor_coalesced(
      std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
      const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>>& outputs,
                                        std::vector<at::Tensor>& inputs,
                                        const c10d::GatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter_tensor_coalesced(
      std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
      const c10d::ReduceScatterOptions& options) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<int64_t>& output_sizes,
                                               std::vector<int64_t>& input_sizes,
                                               const c10d::AllToAllOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;
  void abort() override { collectives_.abort(); }

 private:
  struct Job {
    std::function<void()> body;
    std::vector<at::Tensor> tensors;  // kept alive; the first ones are the result
    c10::intrusive_ptr<c10::ivalue::Future> future;
  };

  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, int64_t bytes,
                                     std::function<void()> body);
  void perform(const Job& job);
  void serve();
  Reducible how(const at::Tensor& tensor, const c10d::ReduceOp& op) const;
  ScatterPair scatter_pair(const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& op) const;

  ShmCollectives collectives_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // the first one is being performed
  bool ends_ = false;
  std::thread thread_;  // started when first needed
};

}  // namespace hftrain::comm
