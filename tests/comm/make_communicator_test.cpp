#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

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

using Flag = std::shared_ptr<std::atomic<bool>>;

// Somebody asks once `stop` is set. The deadline ends a rank that does not hear it.
comm::GroupOptions stopped_options(const Rank& rank, Flag stop, bool of_all = true) {
  ::signal(SIGPIPE, SIG_IGN);  // as a worker does: rank 0's store may write to one that has left
  comm::GroupOptions options{.rank = rank.rank(), .world_size = rank.world_size()};
  options.backend = rank.backend();
  options.store = rank.store();
  options.timeout = std::chrono::seconds(20);
  options.stopped = [stop = std::move(stop), of_all]() -> std::optional<comm::StopWish> {
    if (!*stop) return std::nullopt;
    return comm::StopWish{"somebody asked", of_all};
  };
  return options;
}

// Sets `stop` as a rank begins to connect: ranks come to the store at times of their own.
comm::BackendTable stopping_backends(const Rank& rank, const Flag& stop) {
  const auto real = comm::builtin_backends().at(rank.backend());
  return {{rank.backend(), [real, stop](const comm::BackendRequest& request) {
             *stop = true;
             return real(request);
           }}};
}

template <typename Connect>
void check_stopped(const Connect& connect, const std::string& what, const std::string& why) {
  try {
    connect();
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTerminatedUnsaved);
    CHECK(std::string(error.what()) == what);
    CHECK(error.diagnostics().front().why == why);
  }
}

// When all have left the meeting at the store behind them: of one that froze before, another wait would be told.
comm::BackendTable freezing_backends(const Rank& rank) {
  return {{rank.backend(), [&rank](const comm::BackendRequest& request) -> c10::intrusive_ptr<c10d::Backend> {
             while (!comm::absent_at(request.store, "connecting", request.world_size)
                         .value_or(std::vector<int>())
                         .empty())
               std::this_thread::sleep_for(std::chrono::milliseconds(20));
             rank.freeze();
             ::_exit(0);
           }}};
}

// `frozen` freezes as it begins to connect.
void check_stopped_while_connecting(const Rank& rank, int frozen, const std::string& why) {
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  const auto options = stopped_options(rank, stop);
  if (rank.rank() == frozen) comm::make_communicator(options, freezing_backends(rank));
  check_stopped([&] { comm::make_communicator(options, stopping_backends(rank, stop)); },
                "stopped before the ranks had connected to each other over " + rank.backend(),
                "somebody asked while it waited for " + why);
}

const RankBody kFrozenPeer("rank 2 freezes while it connects", [](const Rank& rank) {
  check_stopped_while_connecting(rank, 2, "1 of 3 ranks: rank 2");
});

const RankBody kFrozenStore("rank 0 freezes while it connects", [](const Rank& rank) {
  check_stopped_while_connecting(rank, 0, "the others; the store of rank 0 does not say for whom");
});

// One rank alone hears of it, so that silence says nothing of the others.
const RankBody kFrozenEarlier("rank 1 freezes before it connects", [](const Rank& rank) {
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  const auto options = stopped_options(rank, stop, /*of_all=*/false);
  if (rank.rank() == 1) {
    const auto store = comm::open_store(options.store, 1, 2, std::chrono::seconds(60));
    return rank.freeze();
  }
  check_stopped([&] { comm::make_communicator(options, stopping_backends(rank, stop)); },
                "stopped before the ranks had connected to each other over " + rank.backend(),
                "somebody asked while it waited for 1 of 2 ranks: rank 1");
});

const RankBody kFrozenMember("rank 2 freezes before its sub-group connects", [](const Rank& rank) {
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  const auto options = stopped_options(rank, stop);
  const auto world = comm::make_communicator(options, comm::builtin_backends());
  world->barrier();
  if (rank.rank() == 2) return rank.freeze();
  if (rank.rank() == 0) return rank.hang();  // it keeps the store
  *stop = true;
  check_stopped(
      [&] {
        world->subgroup({1, 2}, "others");
      },
      "stopped before the ranks had connected to each other over " + rank.backend(),
      "somebody asked while it waited for 1 of 3 ranks: rank 2");
});

const RankBody kStoppedEarly("rank 1 never comes to those that are stopped", [](const Rank& rank) {
  if (rank.rank() == 1) return rank.hang();
  const auto stop = std::make_shared<std::atomic<bool>>(true);
  check_stopped([&] { comm::make_communicator(stopped_options(rank, stop), comm::builtin_backends()); },
                "stopped before the ranks had found each other",
                "somebody asked while it waited for 1 of 2 ranks: rank 1");
});

}  // namespace

TEST_CASE("ranks that are stopped while another comes to the store and no further leave, and name it",
          "[process][alone]") {
  const std::string backend = GENERATE("gloo", "shm");
  require_success(testing::run_ranks("rank 2 freezes while it connects", 3, {2}, backend));
  require_success(testing::run_ranks("rank 1 freezes before it connects", 2, {1}, backend));
  require_success(testing::run_ranks("rank 0 freezes while it connects", 3, {0}, backend));
  require_success(testing::run_ranks("rank 2 freezes before its sub-group connects", 3, {0, 2}, backend));
}

TEST_CASE("a rank that is stopped while another has not come to the store leaves and names it",
          "[process][alone]") {
  require_success(testing::run_ranks("rank 1 never comes to those that are stopped", 2, {1}));
}

TEST_CASE("of many ranks that have not come the first are named") {
  CHECK(comm::name_missing_of({3}, 4) == "1 of 4 ranks: rank 3");
  std::vector<int> many(20);
  std::iota(many.begin(), many.end(), 1);
  CHECK(comm::name_missing_of(many, 64) ==
        "20 of 64 ranks: ranks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 4 more");
}

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
  options.stopped = [] { return comm::StopWish{"somebody asked"}; };
  options.timeout = std::chrono::seconds(20);  // of the thread that still tries
  try {
    comm::make_communicator(options, comm::builtin_backends());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kTerminatedUnsaved);
    CHECK(std::string(error.what()) == "stopped before the ranks had found each other");
  }
}
