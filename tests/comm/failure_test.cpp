// What the survivors see of a peer that died or hangs. The deadline of the groups is an hour unless said, so
// a report that had to wait for it would never come.
#include <ATen/ops/zeros.h>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "comm/rank_processes.h"
#include "hftrain/base/file.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/comm/shm_segment.h"
#include "support/catch.h"
#include "support/refusal.h"

using namespace hftrain;
using comm::Communicator;
using comm::Reduction;
using comm::ShmSegment;
using testing::Rank;
using testing::RankBody;

namespace {

template <typename Callable>
Error lost_in(Callable callable) {
  try {
    callable();
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kWorkerLost);
    return error;
  }
  FAIL("nothing was thrown");
  return Error(ExitCode::kDone, "");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What this process may have, while the object lives.
class Limited {
 public:
  Limited(int resource, rlim_t most) : resource_(resource) {
    REQUIRE(::getrlimit(resource_, &before_) == 0);
    const rlimit less{most, before_.rlim_max};
    REQUIRE(::setrlimit(resource_, &less) == 0);
  }
  Limited(const Limited&) = delete;
  Limited& operator=(const Limited&) = delete;
  ~Limited() { ::setrlimit(resource_, &before_); }

 private:
  int resource_;
  rlimit before_{};
};

const RankBody kLastKilled("last rank is killed", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const at::Tensor tensor = at::zeros({1 << 20}, at::kFloat);
  communicator->all_reduce(tensor, Reduction::kSum);
  if (rank.rank() == rank.world_size() - 1) rank.die();
  const Error error = lost_in([&] {
    communicator->all_reduce(tensor, Reduction::kSum);
    communicator->all_reduce(tensor,
                             Reduction::kSum);  // a rank that needed nothing more of the dead meets it here
  });
  CHECK(contains(error.what(), "all-reduce number "));
  CHECK(contains(error.what(), "failed: no word from rank " + std::to_string(rank.world_size() - 1)));
  CHECK(error.diagnostics().front().where == "rank " + std::to_string(rank.rank()));
});

const RankBody kServerKilled("rank 0 is killed", [](const Rank& rank) {
  const auto communicator = rank.connect();
  communicator->barrier();
  if (rank.rank() == 0) rank.die();
  const Error error = lost_in([&] { communicator->barrier(); });
  CHECK(contains(error.what(), "barrier number 2 failed: "));
  CHECK(contains(error.what(), "rank 0"));
});

const RankBody kHung("rank 1 hangs", [](const Rank& rank) {
  const auto communicator = rank.connect(std::chrono::seconds(5));
  communicator->barrier();
  if (rank.rank() == 1) return rank.hang();
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  const Error error = lost_in([&] { communicator->all_reduce(tensor, Reduction::kSum); });
  CHECK(contains(error.what(), "all-reduce number 2 failed: no word from rank 1"));
});

// Its store takes what is sent and answers nothing.
const RankBody kFrozen("rank 0 is frozen", [](const Rank& rank) {
  const auto communicator = rank.connect(std::chrono::seconds(5));
  communicator->barrier();
  if (rank.rank() == 0) return rank.freeze();
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  const Error error = lost_in([&] { communicator->all_reduce(tensor, Reduction::kSum); });
  CHECK(contains(error.what(), "all-reduce number 2 failed: no word from rank 0, which keeps the store"));
});

// As others wait in its store for rank 2.
const RankBody kFrozenEarly("rank 0 freezes at the rendezvous", [](const Rank& rank) {
  if (rank.rank() == 2) return rank.hang();
  std::promise<std::string> said;
  std::thread comes([&] {
    try {
      comm::open_store(rank.store(), rank.rank(), rank.world_size(), std::chrono::seconds(5));
    } catch (const Error& error) {
      said.set_value(error.what());
    }
  });
  if (rank.rank() == 1) {
    std::future<std::string> what = said.get_future();
    if (what.wait_for(std::chrono::minutes(1)) != std::future_status::ready) rank.die();
    comes.join();
    CHECK(what.get() == "the rendezvous store of rank 0 does not answer");
    return;
  }
  c10d::TCPStoreOptions client;
  client.port = rank.store().port;
  c10d::TCPStore(rank.store().host, client).wait({"hftrain/present/1"}, std::chrono::minutes(1));
  rank.freeze();
  comes.join();
});

const RankBody kAbsent("rank 1 never comes", [](const Rank& rank) {
  if (rank.rank() == 1) return rank.hang();
  const Error error = lost_in([&] { rank.connect(std::chrono::seconds(5)); });
  CHECK(std::string(error.what()) == "rank 1 did not come to the rendezvous");
  CHECK(contains(error.diagnostics().front().why, "for 1 of 3 ranks: rank 1"));
});

const RankBody kNoServer("rank 0 never comes", [](const Rank& rank) {
  if (rank.rank() == 0) return rank.hang();
  const Error error = lost_in([&] { rank.connect(std::chrono::seconds(5)); });
  CHECK(std::string(error.what()) == "the rendezvous store of rank 0 does not answer");
});

// Present at the rendezvous, but not when the backend connects.
const RankBody kUnconnected("rank 1 does not connect", [](const Rank& rank) {
  if (rank.rank() == 1) {
    const auto store = comm::open_store(rank.store(), 1, rank.world_size(), std::chrono::milliseconds(8000));
    return rank.hang();
  }
  const Error error = lost_in([&] { rank.connect(std::chrono::seconds(5)); });
  CHECK(contains(error.what(), rank.backend() == "mpi" ? "rank 1 did not come to the start of MPI"
                                                       : "the ranks could not connect to each other over "));
  if (rank.rank() == 0 && rank.backend() != "mpi")
    CHECK(contains(error.diagnostics().front().why, "nothing was heard of 1 of 3 ranks: rank 1; "));
});

// Rank 0 keeps the store and no more.
const RankBody kNoInterface("an interface that is not there", [](const Rank& rank) {
  if (rank.rank() == 0) {
    const auto store = comm::open_store(rank.store(), 0, rank.world_size(), std::chrono::minutes(1));
    return rank.hang();
  }
  comm::GroupOptions options;
  options.rank = rank.rank();
  options.world_size = rank.world_size();
  options.one_machine = false;
  options.store = rank.store();
  options.timeout = std::chrono::seconds(5);
  options.interfaces = "no-such-one";
  CHECK_REFUSED(comm::make_communicator(options, comm::builtin_backends()),
                "there is no network interface 'no-such-one'");
});

// Where all ranks are on one machine they talk by its loopback interface, whatever is set for runs of several.
const RankBody kOneMachine("an interface that one machine does not need", [](const Rank& rank) {
  comm::GroupOptions options;
  options.rank = rank.rank();
  options.world_size = rank.world_size();
  options.store = rank.store();
  options.interfaces = "no-such-one";
  comm::make_communicator(options, comm::builtin_backends())->barrier();
});

const RankBody kDifferent("different operations", [](const Rank& rank) {
  const auto communicator = rank.connect();
  const at::Tensor tensor = at::zeros({16}, at::kFloat);
  const Error error = lost_in([&] {
    if (rank.rank() == 0) communicator->all_reduce(tensor, Reduction::kSum);
    if (rank.rank() == 1) communicator->broadcast(tensor, 1);
    communicator->barrier();
  });
  CHECK(contains(error.diagnostics().front().why,
                 rank.rank() == 0 ? "rank 0 and rank 1 did not issue the same operation" : "rank 0 gave up"));
});

const RankBody kAfter("after a death", [](const Rank& rank) {
  const auto communicator = rank.connect();
  communicator->barrier();
  if (rank.rank() == 2) rank.die();
  lost_in([&] { communicator->barrier(); });
  lost_in([&] { communicator->barrier(); });
});

// What a rank does when the peer is gone and Gloo has not seen it: it writes to a connection that nobody reads.
const RankBody kUnread("a write that nobody reads", [](const Rank& rank) {
  const auto communicator = rank.connect();
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const FileDescriptor writing(ends[0]);
  FileDescriptor(ends[1]).reset();
  CHECK(::write(writing.get(), "x", 1) == -1);
  CHECK(errno == EPIPE);
  communicator->barrier();  // rank 0 serves the store through which the other may still connect
});

void check_survivors(const std::vector<testing::RankOutcome>& outcomes, size_t victim) {
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    INFO("rank " << rank << " printed\n" << outcomes[rank].output);
    CHECK(outcomes[rank].signal == (rank == victim ? 9 : 0));
    CHECK(outcomes[rank].exit_status == (rank == victim ? -1 : 0));
  }
}

}  // namespace

TEST_CASE("the death of a peer ends a collective at once, on all survivors", "[process]") {
  const std::string backend = GENERATE("gloo", "shm");
  check_survivors(testing::run_ranks("last rank is killed", 2, {}, backend), 1);
  check_survivors(testing::run_ranks("last rank is killed", 4, {}, backend), 3);
}

TEST_CASE("the death of rank 0, which serves the store, is reported as such", "[process]") {
  check_survivors(testing::run_ranks("rank 0 is killed", 3, {}, GENERATE("gloo", "shm")), 0);
}

TEST_CASE("a write to a peer that is gone fails and does not end the rank by a signal", "[process]") {
  require_success(testing::run_ranks("a write that nobody reads", 2, {}, "gloo"));
}

TEST_CASE("a peer that hangs is named when the deadline has passed", "[process][alone]") {
  require_success(testing::run_ranks("rank 1 hangs", 3, {1}, GENERATE("gloo", "shm")));
}

TEST_CASE("a rank 0 that is frozen with its store is named when the deadline has passed",
          "[process][alone]") {
  require_success(testing::run_ranks("rank 0 is frozen", 3, {0}, GENERATE("gloo", "shm")));
}

TEST_CASE("a rank 0 that freezes while ranks wait for another at the rendezvous is named",
          "[process][alone]") {
  require_success(testing::run_ranks("rank 0 freezes at the rendezvous", 3, {0, 2}));
}

TEST_CASE("a peer that does not connect is named when the deadline has passed", "[process][alone]") {
  require_success(testing::run_ranks("rank 1 does not connect", 3, {1}, GENERATE("gloo", "shm")));
}

TEST_CASE(
    "ranks of several nodes talk by the interfaces that they are told, not by whichever leads to rank 0",
    "[process]") {
  require_success(testing::run_ranks("an interface that is not there", 2, {0}, "gloo"));
}

TEST_CASE("ranks of one machine need no interface that is named for runs of several", "[process]") {
  require_success(testing::run_ranks("an interface that one machine does not need", 2, {}, "gloo"));
}

TEST_CASE("ranks that issue different operations are told so", "[process]") {
  require_success(testing::run_ranks("different operations", 2, {}, "shm"));
}

TEST_CASE("a group that has failed stays unusable", "[process]") {
  check_survivors(testing::run_ranks("after a death", 3, {}, GENERATE("gloo", "shm")), 2);
}

TEST_CASE("shared memory has no name that could be left behind, and goes with its owner") {
  constexpr size_t kBytes = 4096;
  std::string address;
  {
    const ShmSegment segment = ShmSegment::create("rank 3", kBytes);
    address = segment.address();
    int process = 0, file = 0;
    std::istringstream(address) >> process >> file;
    struct stat status {};
    REQUIRE(::fstat(file, &status) == 0);
    CHECK(status.st_nlink == 0);
    CHECK(ShmSegment::open("rank 3", address, kBytes).owner_lives());
  }
  CHECK_REFUSED(ShmSegment::open("rank 3", address, kBytes), "the shared memory of another rank");
  CHECK_REFUSED(ShmSegment::open("rank 3", address, kBytes), "where: rank 3, /proc/");
  check_survivors(testing::run_ranks("last rank is killed", 4, {}, "shm"), 3);
}

TEST_CASE("shared memory that the system refuses is told with its rank and its size") {
  constexpr size_t kBytes = size_t{1} << 20;
  {
    const Limited files(RLIMIT_NOFILE, 0);
    CHECK_REFUSED(ShmSegment::create("rank 3", kBytes),
                  "shared memory cannot be made\n  where: rank 3, its segment of 1.0 MiB");
  }
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  {
    const Limited bytes(RLIMIT_FSIZE, kBytes);  // and the segment has a header
    CHECK_REFUSED(ShmSegment::create("rank 3", kBytes),
                  "there is not enough shared memory\n  where: rank 3, its segment of 1.0 MiB");
    CHECK_REFUSED(ShmSegment::create("rank 3", kBytes), "raise that limit (ulimit -f)");
  }
  std::signal(SIGXFSZ, before);
  {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const Limited memory(RLIMIT_AS, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + 16 * kBytes);
    try {
      ShmSegment::create("rank 3", 64 * kBytes);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kHostMemory);
    }
  }
  CHECK_NOTHROW(ShmSegment::create("rank 3", kBytes));
}

TEST_CASE("a rank that does not come to the rendezvous is named", "[process][alone]") {
  require_success(testing::run_ranks("rank 1 never comes", 3, {1}));
}

TEST_CASE("ranks do not wait for ever for the store of rank 0", "[process][alone]") {
  require_success(testing::run_ranks("rank 0 never comes", 2, {0}));
}
