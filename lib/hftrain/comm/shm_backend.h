// Collectives between CPU ranks of one machine through shared memory, nothing else installed.
//
// An operation runs in the thread that issues it and is over when the call returns; its failure is reported
// by wait(). Moving memory is work for a core, and the cores of a CPU run are busy computing: a thread of the
// backend's own would take turns with them, and cost every small message two changes of thread. All ranks
// must therefore issue the operations of all their groups in one order.
#pragma once

#include <string>
#include <vector>

#include "hftrain/comm/backend_table.h"
#include "hftrain/comm/shm_collectives.h"

namespace hftrain::comm {

// Connects all ranks of the group before it returns. kEnvironment when they cannot see each other's memory.
c10::intrusive_ptr<c10d::Backend> make_shm_backend(const BackendRequest& request);

// One thread at a time.
class ShmBackend final : public c10d::Backend {
 public:
  explicit ShmBackend(const BackendRequest& request);

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
  // `tensors`: the results first.
  template <typename Body>
  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, const Body& body);
  Reducible how(const at::Tensor& tensor, const c10d::ReduceOp& op) const;
  ScatterPair scatter_pair(const at::Tensor& output, const at::Tensor& input, const c10d::ReduceOp& op) const;

  ShmCollectives collectives_;
};

}  // namespace hftrain::comm
