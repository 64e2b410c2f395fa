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
#include "hftrain/comm/memory_backend.h"
#include "hftrain/comm/shm_collectives.h"

namespace hftrain::comm {

// Connects all ranks of the group before it returns. kEnvironment when they cannot see each other's memory.
c10::intrusive_ptr<c10d::Backend> make_shm_backend(const BackendRequest& request);

// One thread at a time.
class ShmBackend final : public MemoryBackend<ShmBackend> {
 public:
  explicit ShmBackend(const BackendRequest& request);

  const std::string getBackendName() const override { return "shm"; }
  void abort() override { collectives_.abort(); }

 private:
  friend class MemoryBackend<ShmBackend>;
  template <typename Body>
  c10::intrusive_ptr<c10d::Work> run(std::vector<at::Tensor> tensors, const Body& body);

  ShmCollectives collectives_;
};

}  // namespace hftrain::comm
