#include "comm/rank_processes.h"
#include "hftrain/comm/communicator.h"
#include "support/catch.h"
#include "support/refusal.h"

using namespace hftrain;
using testing::Rank;
using testing::RankBody;

namespace {

const RankBody kPlans("plans", [](const Rank& rank) {
  const auto communicator = rank.connect();
  comm::agree_on_plan(*communicator, "0123abcd");
  try {
    comm::agree_on_plan(*communicator, rank.rank() == 1 ? "ffff" : "0123abcd");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(std::string(error.what()) == "rank 1 read another plan than rank 0");
  }
});

}  // namespace

TEST_CASE("a rank with another plan is named before training starts", "[process]") {
  require_success(testing::run_ranks("plans", 3));
}

TEST_CASE("a backend of unknown name is refused") {
  CHECK_REFUSED(comm::make_communicator({.world_size = 2, .backend = "pigeons"}, comm::builtin_backends()),
                "no communication backend of the name pigeons");
}
