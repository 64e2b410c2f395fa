#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>

#include "comm/rank_processes.h"
#include "hftrain/base/file.h"
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

TEST_CASE("a rank that is stopped while it looks for the others leaves") {
  const FileDescriptor silent(
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));  // bound, and listens to nobody
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(::bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  comm::GroupOptions options{.rank = 1, .world_size = 2};
  options.store = {"127.0.0.1", ntohs(address.sin_port)};
  options.stopped = [] { return true; };
  options.timeout = std::chrono::seconds(20);  // of the thread that still tries
  try {
    comm::make_communicator(options, comm::builtin_backends());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTerminatedUnsaved);
    CHECK(std::string(error.what()) == "stopped before the ranks had found each other");
  }
}
