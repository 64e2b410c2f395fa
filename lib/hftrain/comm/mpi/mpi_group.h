// The ranks of a group as MPI knows them: messages between two of them, and waiting with a deadline.
//
// Every MPI call that could block is replaced by its immediate form and a loop that asks whether it is over.
// So a wait can end by the deadline or by abort(), and it does not keep a core busy that computing ranks
// need: it asks again at once for a few microseconds, then offers its core to others in between, then sleeps
// for short whiles.
//
// All calls but abort() come from the group's MpiThread.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hftrain/comm/backend_table.h"

namespace hftrain::comm {

// Throws c10::DistBackendError with MPI's words unless `status` is MPI_SUCCESS.
void check_mpi(int status, const char* call);

class MpiGroup {
 public:
  // Messages under way. Their memory must stay valid until wait() has returned, and for ever when it threw:
  // MPI may still write to it.
  using Transfers = std::vector<MPI_Request>;

  // What a message belongs to: a rank that issues another operation than its peers meets its deadline rather
  // than somebody else's numbers.
  enum class Kind : int { kGather = 1, kRooted, kScatter, kReduce, kExchange };

  // Blocks until all members have called it.
  explicit MpiGroup(const BackendRequest& request);
  ~MpiGroup();
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // An operation begins: from now on it has the deadline of the group.
  void begin(Kind kind);
  // Start moving memory to or from a rank of the group, any number of bytes.
  void send(int to, const std::byte* data, int64_t bytes, Transfers& transfers) const;
  void receive(int from, std::byte* data, int64_t bytes, Transfers& transfers) const;
  void broadcast(int root, std::byte* data, int64_t bytes);
  void barrier();
  // Returns when all of them are over.
  void wait(Transfers& transfers);

  // Makes the operation under way and all later ones fail on this rank. Any thread.
  void abort() { aborted_ = true; }
  bool aborted() const { return aborted_; }

 private:
  void pause(std::chrono::steady_clock::time_point last_progress, int tries);

  int rank_;
  int size_;
  std::chrono::milliseconds timeout_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  Kind kind_ = Kind::kGather;
  std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> aborted_ = false;
};

}  // namespace hftrain::comm
