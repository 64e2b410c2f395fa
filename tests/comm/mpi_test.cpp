// The MPI backend: the contract of all backends under mpirun, and what only MPI can do wrong.
#include "hftrain/comm/mpi_plugin.h"

#include <ATen/ops/linspace.h>
#include <ATen/ops/zeros.h>
#include <stdlib.h>

#include <iostream>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "comm/rank_processes.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/comm/store.h"
#include "support/catch.h"
#include "support/skip.h"

using namespace hftrain;
using comm::Reduction;
using testing::kMpiOnOneThread;
using testing::Rank;
using testing::RankBody;

#define NEEDS_MPI() \
  if (const std::string reason = testing::no_mpi_because(); !reason.empty()) HFTRAIN_SKIP(reason)

namespace {

comm::BackendRequest alone() {
  comm::BackendRequest request;
  request.store = c10::make_intrusive<c10d::HashStore>();
  request.members = {0};
  request.timeout = std::chrono::minutes(1);
  return request;
}

// Sums whose last bits depend on the order of the additions, printed as whole numbers.
const RankBody kBits("bits of sums", [](const Rank& rank) {
  const auto communicator = rank.connect();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const int64_t size : {999, 1'000'003}) {
      const at::Tensor sum =
          at::linspace(rank.rank() + 0.1, 3.7 / (rank.rank() + 1), size, at::kDouble).to(type);
      communicator->all_reduce(sum, Reduction::kAverage);
      const auto* bytes = static_cast<const unsigned char*>(sum.const_data_ptr());
      uint64_t hash = 0;
      for (size_t i = 0; i < sum.nbytes(); ++i) hash = hash * 0x100000001b3 + bytes[i];
      std::cout << "bits " << hash << std::endl;
    }
  }
});

const RankBody kKilledUnderMpirun("a rank is killed under mpirun", [](const Rank& rank) {
  const auto communicator = rank.connect(std::chrono::seconds(4));
  communicator->barrier();
  rank.end_without_mpi();
  if (rank.rank() == 1) rank.die();
  try {
    for (int i = 0; i < 2; ++i) communicator->all_reduce(at::zeros({1 << 20}), Reduction::kSum);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kWorkerLost);
    CHECK(std::string(error.what()).find("failed: no word from rank 1") != std::string::npos);
  }
});

// The deadline is an hour: a rank that waited for it would never end.
const RankBody kLeaves("a rank leaves in the middle", [](const Rank& rank) {
  auto communicator = rank.connect();
  communicator->barrier();
  if (rank.rank() == 1) return rank.hang();
  {
    const auto pending = communicator->all_reduce_async(at::zeros({1 << 20}), Reduction::kSum);
    static_cast<void>(pending);
  }
  communicator.reset();
});

// It says that it comes to the start of MPI, and does not start it.
const RankBody kStays("a rank does not get through the start of MPI", [](const Rank& rank) {
  if (rank.rank() == 1) {
    const auto store = comm::open_store(rank.store(), 1, rank.world_size(), std::chrono::minutes(1));
    comm::missing_at(store, "mpi", 1, rank.world_size(), std::chrono::minutes(1));
    return rank.hang();
  }
  try {
    rank.connect(std::chrono::seconds(5));
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    INFO(error.render());
    CHECK(error.code() == ExitCode::kWorkerLost);
    CHECK(std::string(error.what()).find(" did not get through the start of MPI") != std::string::npos);
    CHECK(error.render().find("btl_tcp_if_include") != std::string::npos);
  }
  rank.end_without_mpi();
});

const RankBody kCounts("MPI counts otherwise", [](const Rank&) {
  const auto mpi = comm::load_mpi_plugin(testing::mpi_plugin()).start_process({});
  try {
    mpi->connect(alone());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().where == "rank 0 of 1");
    CHECK(error.diagnostics().front().why.find(" of 2") != std::string::npos);
  }
});

std::string bits_of(const std::vector<testing::RankOutcome>& outcomes) {
  require_success(outcomes);
  const std::string& output = outcomes[0].output;
  const size_t begin = output.find("bits "), end = output.find('\n', output.rfind("bits "));
  REQUIRE(begin != std::string::npos);
  return output.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("MPI keeps the contract of the collectives", "[process][mpi]") {
  NEEDS_MPI();
  const int world = GENERATE(2, 3, 4);
  INFO(world << " processes");
  require_success(testing::run_ranks("contract", world, {}, "mpi"));
}

TEST_CASE("MPI keeps the contract with one thread for all groups", "[process][mpi]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("contract", 3, {}, kMpiOnOneThread));
}

TEST_CASE("several operations may be under way at once over MPI", "[process][mpi]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("overlapping operations", 2, {},
                                     GENERATE(as<std::string>{}, "mpi", kMpiOnOneThread)));
}

TEST_CASE("the groups of a mesh over MPI hold the neighbours and the replicas", "[process][mpi]") {
  NEEDS_MPI();
  require_success(
      testing::run_ranks("axes of a mesh", 4, {}, GENERATE(as<std::string>{}, "mpi", kMpiOnOneThread)));
}

TEST_CASE("only members join a sub-group over MPI, in the order given", "[process][mpi]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("a group of others", 3, {}, "mpi"));
}

TEST_CASE("sums over MPI have the bits of sums in shared memory", "[process][mpi]") {
  NEEDS_MPI();
  CHECK(bits_of(testing::run_ranks("bits of sums", 3, {}, "mpi")) ==
        bits_of(testing::run_ranks("bits of sums", 3, {}, "shm")));
}

TEST_CASE("the death of a rank ends a collective over MPI by the deadline, and its peers end as well",
          "[process][mpi][alone]") {
  NEEDS_MPI();
  const auto outcomes = testing::run_ranks("a rank is killed under mpirun", 3, {}, "mpi");
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    INFO("rank " << rank << " printed\n" << outcomes[rank].output);
    CHECK(outcomes[rank].signal == (rank == 1 ? 9 : 0));
    CHECK(outcomes[rank].exit_status == (rank == 1 ? -1 : 0));
  }
}

TEST_CASE("a rank that hangs under mpirun is named when the deadline has passed", "[process][mpi][alone]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("rank 1 hangs", 3, {1}, "mpi"));
}

TEST_CASE("a rank that does not start MPI is named when the deadline has passed", "[process][mpi][alone]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("rank 1 does not connect", 3, {1}, "mpi"));
}

TEST_CASE("an MPI that does not start ends by the deadline and says what to try", "[process][mpi][alone]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("a rank does not get through the start of MPI", 2, {1}, "mpi"));
}

TEST_CASE("a rank that leaves because of a failure does not wait for its peers over MPI", "[process][mpi]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("a rank leaves in the middle", 2, {1}, "mpi"));
}

TEST_CASE("an MPI that counts other ranks is refused", "[process][mpi]") {
  NEEDS_MPI();
  require_success(testing::run_ranks("MPI counts otherwise", 2, {}, "mpi"));
}

TEST_CASE("MPI outside mpirun is refused before it starts anything", "[mpi]") {
  NEEDS_MPI();
  ::unsetenv("PMIX_RANK");
  const auto mpi = comm::load_mpi_plugin(testing::mpi_plugin()).start_process({});
  try {
    mpi->connect(alone());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(std::string(error.what()) == "the mpi back end needs ranks that mpirun has started");
  }
  CHECK(mpi->description().empty());
  CHECK(mpi->finish(std::chrono::seconds(1)));  // nothing to finish
}

TEST_CASE("a missing MPI plug-in is an error of the environment that says what to install") {
  try {
    comm::load_mpi_plugin("/nowhere/libhftrain_mpi.so");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().hint.find("openmpi-bin") != std::string::npos);
  }
}
