// Collectives between CPU ranks over MPI, on one machine or several.
//
// Operations run on the group's MpiThread, one after the other in the order in which they are issued, while
// the issuer computes on. Where groups share one thread, all ranks must issue the operations of all their
// groups in one order. A failure ends the group on this rank and is reported by whoever waits.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/comm/memory_backend.h"
#include "hftrain/comm/mpi/mpi_collectives.h"
#include "hftrain/comm/mpi/mpi_thread.h"

namespace hftrain::comm {

// What a group and its operations share. Its last owner is a task of the group's thread.
struct MpiLink {
  explicit MpiLink(const BackendRequest& request) : collectives(request) {}
  MpiCollectives collectives;
  std::atomic<int> pending = 0;  // operations issued and not over
};

class MpiBackend final : public MemoryBackend<MpiBackend> {
 public:
  // Returns when all members have connected; c10::DistBackendError after the deadline of the request.
  MpiBackend(const BackendRequest& request, std::shared_ptr<MpiThread> thread);
  ~MpiBackend() override;

  const std::string getBackendName() const override { return "mpi"; }
  void abort() override { link_->collectives.abort(); }
  void shutdown() override { leave(); }

 private:
  friend class MemoryBackend<MpiBackend>;
  template <typename Body>
  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, Body body);
  void leave() noexcept;

  std::shared_ptr<MpiThread> thread_;
  std::shared_ptr<MpiLink> link_;
};

}  // namespace hftrain::comm
