#include "hftrain/comm/mpi/mpi_process.h"

#include <mpi.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/comm/mpi/mpi_backend.h"
#include "hftrain/comm/mpi/mpi_segment.h"
#include "hftrain/comm/store.h"

namespace hftrain::comm {
namespace {

struct MpiWorld {
  int rank = 0;
  int size = 1;
  int thread_level = MPI_THREAD_SINGLE;
  std::string library;
  MpiSegment segment;
};

// Starting MPI takes seconds on a large machine. What takes longer than this has got stuck in it.
constexpr std::chrono::seconds kLongestStart{120};

// Both on the thread that stays MPI's main thread.
int start_mpi(int wanted_level) {
  int granted_level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, wanted_level, &granted_level), "MPI_Init_thread");
  return granted_level;
}

MpiWorld look_at_world(int thread_level) {
  MpiWorld world;
  world.thread_level = thread_level;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world.size), "MPI_Comm_size");
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<size_t>(length));
  world.library = trim(version.substr(0, version.find(',')));
  world.segment.remove_name();
  return world;
}

std::string place(int rank, int size) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

class Process final : public MpiProcess {
 public:
  explicit Process(const MpiOptions& options) : options_(options) {}

  c10::intrusive_ptr<c10d::Backend> connect(const BackendRequest& request) override {
    meet(request);
    if (!world_) start(request);
    const bool own_thread = options_.thread_per_group && world_->thread_level == MPI_THREAD_MULTIPLE;
    return c10::make_intrusive<MpiBackend>(request, own_thread ? std::make_shared<MpiThread>() : thread_);
  }

  std::string description() const override {
    if (!world_) return "";
    return world_->library +
           (world_->thread_level == MPI_THREAD_MULTIPLE ? ", a thread for every group" : ", one thread");
  }

  bool finish(std::chrono::milliseconds patience) override {
    if (!world_) return true;
    try {
      return thread_->call("MPI_Finalize", patience, [segment = world_->segment] {
        segment.put_name_back();
        return MPI_Finalize() == MPI_SUCCESS;
      });
    } catch (const c10::DistError&) {
      world_->segment.forget_name();
      return false;
    }
  }

 private:
  // Starting MPI and making a communicator wait for all ranks without a deadline, so they meet before.
  static void meet(const BackendRequest& request) {
    const std::vector<int> missing = missing_ranks(request, "mpi", request.timeout);
    if (missing.empty()) return;
    throw Error(ExitCode::kWorkerLost, name_ranks(missing) + " did not come to the start of MPI")
        .where("rank " + std::to_string(request.members[static_cast<size_t>(request.rank)]))
        .why("waited " + std::to_string(request.timeout.count()) + " ms")
        .hint("see what those ranks did last; a larger --ddp_timeout waits longer");
  }

  static std::vector<int> missing_ranks(const BackendRequest& request, const std::string& point,
                                        std::chrono::milliseconds patience) {
    std::vector<int> missing = missing_at(request.store, point, request.rank, request.world_size, patience);
    for (int& member : missing) member = request.members[static_cast<size_t>(member)];
    return missing;
  }

  static Error stuck(const std::string& ranks, const std::string& why) {
    return Error(ExitCode::kWorkerLost, ranks + " did not get through the start of MPI")
        .where("--ddp_backend mpi")
        .why(why)
        .hint(
            "with several networks: mpirun --mca btl_tcp_if_include NETWORK/BITS --mca oob_tcp_if_include "
            "NETWORK/BITS …; or --ddp_backend gloo, which needs no MPI");
  }

  void start(const BackendRequest& request) {
    if (::getenv("PMIX_RANK") == nullptr) {
      throw Error(ExitCode::kEnvironment, "the mpi back end needs ranks that mpirun has started")
          .where("--ddp_backend mpi")
          .why("PMIX_RANK is not set")
          .hint("mpirun -n " + std::to_string(request.world_size) + " hftrain …, or leave --ddp_backend out");
    }
    const int wanted = options_.thread_per_group ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
    thread_ = std::make_shared<MpiThread>();
    const MpiWorld world = start_all(request, wanted);
    if (world.rank != request.rank || world.size != request.world_size) {
      throw Error(ExitCode::kEnvironment, "MPI counts the ranks of this job otherwise than hftrain")
          .where(place(request.rank, request.world_size))
          .why("MPI: " + place(world.rank, world.size))
          .hint("start one process per rank: mpirun -n " + std::to_string(request.world_size) +
                ", or leave --ddp_backend out");
    }
    world_ = world;
  }

  // Open MPI may wait in it for ever, so the ranks tell each other who has come out.
  MpiWorld start_all(const BackendRequest& request, int wanted_level) {
    const auto patience = std::min<std::chrono::milliseconds>(request.timeout, kLongestStart);
    try {
      const int level =
          thread_->call("MPI_Init_thread", patience, [wanted_level] { return start_mpi(wanted_level); });
      const std::vector<int> missing = missing_ranks(request, "mpi-started", patience);
      if (!missing.empty())
        throw stuck(name_ranks(missing),
                    "no word from MPI_Init_thread for " + std::to_string(patience.count()) + " ms");
      return thread_->call("the first exchange over MPI", patience, [level] { return look_at_world(level); });
    } catch (const c10::DistError& error) {
      throw stuck("rank " + std::to_string(request.members[static_cast<size_t>(request.rank)]),
                  error.what_without_backtrace());
    }
  }

  MpiOptions options_;
  std::shared_ptr<MpiThread> thread_;
  std::optional<MpiWorld> world_;
};

}  // namespace

std::unique_ptr<MpiProcess> start_mpi_process(const MpiOptions& options) {
  // A rank that waits inside MPI shares its cores with threads that compute. A default: the user's value
  // stays.
  ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0);
  // The front program has been a PMIx client of this rank before; with other stores its data would be found
  // taken.
  ::setenv("PMIX_MCA_gds", "hash", /*overwrite=*/0);
  return std::make_unique<Process>(options);
}

}  // namespace hftrain::comm
