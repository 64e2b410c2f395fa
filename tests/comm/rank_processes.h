// Ranks as real processes, for tests. The test executable starts itself once per rank; each child runs one
// rank body, a function registered by name, in which Catch's assertions work as usual.
//
//   const RankBody sums("sums", [](const Rank& rank) { rank.connect()->all_reduce(…); });  // in the children
//   TEST_CASE("…", "[process]") { require_success(run_ranks("sums", 2)); }                 // in the parent
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/comm/mpi_plugin.h"
#include "support/paths.h"

namespace hftrain::testing {

// Names of run_ranks for the MPI plug-in beside "mpi": with one thread for all groups, as with an MPI library
// that allows no more.
inline constexpr const char* kMpiOnOneThread = "mpi on one thread";
inline std::string mpi_plugin() {
  return plugin("hftrain_mpi");
}
// Empty when ranks can be run under mpirun; otherwise what is missing.
std::string no_mpi_because();

// The child's side.
class Rank {
 public:
  Rank(int rank, int world_size, std::string backend, comm::StoreAddress store)
      : rank_(rank), world_size_(world_size), backend_(std::move(backend)), store_(std::move(store)) {}
  int rank() const { return rank_; }
  int world_size() const { return world_size_; }
  const std::string& backend() const { return backend_; }  // as run_ranks was told
  const comm::StoreAddress& store() const { return store_; }
  // Joins the other ranks over the backend of run_ranks, or trivially in a world of one. Once per child. The
  // deadline is so long that a test which needs it never ends.
  std::unique_ptr<comm::Communicator> connect(
      std::chrono::milliseconds timeout = std::chrono::hours(1)) const;
  // Ends this process as kill -9 does.
  [[noreturn]] void die() const;
  // Returns when all ranks that do not hang have ended.
  void hang() const;
  // The same, but with all threads of the process stopped, as SIGSTOP or a virtual machine that is paused leaves it.
  void freeze() const;
  // The orderly end of MPI, if this rank uses it; the groups are gone.
  void finish() const;
  // For ranks that lose peers: the end will not wait for them.
  void end_without_mpi() const { mpi_.reset(); }

 private:
  int rank_;
  int world_size_;
  std::string backend_;
  comm::StoreAddress store_;
  mutable std::shared_ptr<comm::MpiProcess> mpi_;
};

struct RankBody {
  RankBody(const std::string& name, std::function<void(const Rank&)> body);
};

struct RankOutcome {
  int exit_status = -1;  // 0: the body's assertions held; -1: ended by a signal
  int signal = 0;
  std::string output;  // everything the child printed
};

// Runs a body on `world_size` fresh processes and waits for their end. `hanging` are the ranks that call
// hang() or freeze(). The backend "mpi" runs them under mpirun, as children of what mpirun starts.
std::vector<RankOutcome> run_ranks(const std::string& body, int world_size,
                                   const std::vector<int>& hanging = {}, const std::string& backend = "gloo");
// Fails the test, with the output of the first rank that failed, unless all succeeded.
void require_success(const std::vector<RankOutcome>& outcomes);

}  // namespace hftrain::testing
