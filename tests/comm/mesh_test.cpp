#include "hftrain/comm/mesh.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "comm/rank_processes.h"
#include "support/catch.h"
#include "support/refusal.h"

using namespace hftrain;
using comm::Mesh;
using comm::Reduction;
using testing::Rank;
using testing::RankBody;

namespace {

double sum_over(comm::Communicator& group, double value) {
  return group.sum(value);
}

const RankBody kAxes("axes of a mesh", [](const Rank& rank) {
  const auto world = rank.connect();
  const Mesh mesh(*world, /*replicate=*/2, /*shard=*/2);
  const int own = rank.rank();
  CHECK(mesh.shard().world_size() == 2);
  CHECK(mesh.shard().rank() == own % 2);
  CHECK(mesh.replicate().world_size() == 2);
  CHECK(mesh.replicate().rank() == own / 2);
  // Powers of ten show who took part.
  const double mark = std::pow(10, own);
  CHECK(sum_over(mesh.shard(), mark) == (own < 2 ? 11 : 1100));
  CHECK(sum_over(mesh.replicate(), mark) == (own % 2 == 0 ? 101 : 1010));
  CHECK(sum_over(*world, mark) == 1111);
});

const RankBody kLine("a mesh with one axis", [](const Rank& rank) {
  const auto world = rank.connect();
  const Mesh sharded(*world, 1, rank.world_size());
  CHECK(&sharded.shard() == world.get());
  CHECK(sharded.replicate().world_size() == 1);
  CHECK(sum_over(sharded.replicate(), rank.rank()) == rank.rank());
  const Mesh replicated(*world, rank.world_size(), 1);
  CHECK(&replicated.replicate() == world.get());
  CHECK(replicated.shard().world_size() == 1);
  CHECK_REFUSED(Mesh(*world, 2, 2), "does not hold 2 ranks");
  world->barrier();  // rank 0 serves the store through which the others still connect
});

const RankBody kBytes("bytes of a mesh", [](const Rank& rank) {
  const auto world = rank.connect();
  const Mesh mesh(*world, 2, 2);
  const int64_t before = world->bytes_sent();
  const at::Tensor whole = at::zeros({1000}), part = at::zeros({500});
  mesh.shard().all_gather(whole, part);
  mesh.replicate().all_reduce(part, Reduction::kSum);
  CHECK(mesh.shard().bytes_sent() == 2000);
  CHECK(mesh.replicate().bytes_sent() == 2000);
  CHECK(world->bytes_sent() - before == 4000);
});

const RankBody kStranger("a group of others", [](const Rank& rank) {
  const auto world = rank.connect();
  if (rank.rank() == 0) CHECK_REFUSED(world->subgroup({1, 2}, "others"), "rank 0 is not of the group others");
  if (rank.rank() != 0) {
    const auto others = world->subgroup({2, 1}, "others");  // the order given is the order of the group
    CHECK(others->rank() == (rank.rank() == 2 ? 0 : 1));
    at::Tensor sent = at::full({3}, rank.rank(), at::kFloat);
    others->broadcast(sent, 0);
    CHECK(at::equal(sent, at::full({3}, 2.0f)));
  }
  world->barrier();
});

const RankBody kDeath("a death in a sub-group", [](const Rank& rank) {
  const auto world = rank.connect();
  const Mesh mesh(*world, 2, 2);
  world->barrier();
  if (rank.rank() == 3) rank.die();
  if (rank.rank() != 2) return rank.hang();
  try {
    mesh.shard().barrier();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kWorkerLost);
    CHECK(std::string(error.what()) == "barrier number 1 of the group shard-1 failed: no word from rank 3");
    CHECK(error.diagnostics().front().where == "rank 2");
  }
});

}  // namespace

TEST_CASE("the groups of a mesh hold the neighbours and the replicas", "[process]") {
  require_success(testing::run_ranks("axes of a mesh", 4, {}, GENERATE("gloo", "shm")));
}

TEST_CASE("an axis that covers the world is the world", "[process]") {
  require_success(testing::run_ranks("a mesh with one axis", 2));
}

TEST_CASE("bytes sent over the axes of a mesh are bytes of the world", "[process]") {
  require_success(testing::run_ranks("bytes of a mesh", 4));
}

TEST_CASE("only members join a sub-group, in the order given", "[process]") {
  require_success(testing::run_ranks("a group of others", 3, {}, GENERATE("gloo", "shm")));
}

TEST_CASE("a death in a sub-group names the rank of the world", "[process]") {
  const auto outcomes = testing::run_ranks("a death in a sub-group", 4, {0, 1}, GENERATE("gloo", "shm"));
  for (size_t rank = 0; rank < outcomes.size(); ++rank) {
    INFO("rank " << rank << " printed\n" << outcomes[rank].output);
    CHECK(outcomes[rank].signal == (rank == 3 ? 9 : 0));
    CHECK(outcomes[rank].exit_status == (rank == 3 ? -1 : 0));
  }
}
