// Front programs meet through what started them: real mpirun, real torchrun.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "launcher/control/addresses.h"
#include "launcher/environments/store_exchange.h"
#include "launcher/process/watched_process.h"
#include "launcher/supervision/stop_signals.h"
#include "reserved_port.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/skip.h"

namespace hftrain::launcher {
namespace {

namespace fs = std::filesystem;

std::string lines_of(int processes, const std::string& by) {
  std::string lines;
  for (int rank = 0; rank < processes; ++rank)
    lines += by + ' ' + std::to_string(rank) + ": 10.0.0.1:4711/" + std::to_string(processes) + '\n';
  return lines;
}

std::string sorted(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  std::sort(lines.begin(), lines.end());
  std::string result;
  for (const std::string& line : lines) result += line;
  return result;
}

Environment as_root() {
  Environment environment = Environment::of_process();
  environment.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
  environment.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  return environment;
}

}  // namespace

TEST_CASE("front programs of mpirun meet through PMIx", "[mpi][process]") {
  const std::string mpirun = "/usr/bin/mpirun";
  const fs::path plugin =
      fs::path(testing::program("dummy_front")).parent_path().parent_path() / "lib/libhftrain_pmix.so";
  if (!fs::exists(mpirun) || !fs::exists(plugin)) HFTRAIN_SKIP("Open MPI, and a build with it");
  for (const int processes : {2, 4}) {
    WatchedProcess run(
        {mpirun, "--oversubscribe", "-n", std::to_string(processes), testing::program("dummy_front"), "meet"},
        as_root());
    CHECK(run.finish() == 0);
    INFO(run.err());
    CHECK(sorted(run.out()) == lines_of(processes, "mpirun"));
  }
}

TEST_CASE("a process that waits for others of mpirun says so, and a signal ends the wait", "[mpi][process]") {
  const std::string mpirun = "/usr/bin/mpirun";
  const fs::path plugin =
      fs::path(testing::program("dummy_front")).parent_path().parent_path() / "lib/libhftrain_pmix.so";
  if (!fs::exists(mpirun) || !fs::exists(plugin)) HFTRAIN_SKIP("Open MPI, and a build with it");
  // The other one never comes to the fence. mpirun passes the signal on to both, and ends what is left after the first
  // that fails: the one that is looked at.
  WatchedProcess run({mpirun, "--oversubscribe", "-n", "1", testing::program("dummy_front"), "meet", ":",
                      "-n", "1", "/bin/sh", "-c", "trap '' USR1; exec sleep 600"},
                     as_root());
  REQUIRE(run.wait_for("still waiting for all processes that mpirun has started to meet through PMIx"));
  run.child().send(SIGUSR1);
  // mpirun ends with the code of the first that fails. Where the wait goes on until its time is over, that is another one.
  CHECK(run.finish() == static_cast<int>(ExitCode::kTerminatedUnsaved));
  CHECK(run.err().find("error: stopped") != std::string::npos);
}

TEST_CASE("who waits for the store of torchrun's agent says so, and a signal ends the wait") {
  const FileDescriptor silent = std::move(listen_at({"127.0.0.1"}, 0, "").front());
  StoreExchange exchange("127.0.0.1", port_of(silent.get()), "key");
  StopSignals signals;
  std::string said;
  ExchangeWait wait(60);
  wait.wake = signals.descriptor();
  wait.on_wake = [&signals] {
    if (signals.next() != 0) throw Error(ExitCode::kTerminatedUnsaved, "stopped");
  };
  wait.notice_seconds = 0.1;
  wait.on_notice = [&said](const std::string& text) {
    said = text;
    ::kill(::getpid(), SIGTERM);
  };
  for (const bool first : {true, false}) {
    said.clear();
    try {
      if (first) {
        exchange.publish("10.0.0.1|4711", wait);
      } else {
        exchange.await(wait);
      }
      FAIL("nobody has answered");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kTerminatedUnsaved);
    }
    CHECK(said.find("still waiting for the first rank to say through the store of torchrun's agent") == 0);
  }
  // Without a signal it gives up in time.
  const double begin = monotonic_seconds();
  CHECK_REFUSED(exchange.await(0.2), "no answer in time");
  CHECK(monotonic_seconds() < begin + 30);
}

TEST_CASE("ranks of torchrun meet through the store of its agent", "[parity][process]") {
  const std::string python = testing::test_python();
  if (python.empty()) HFTRAIN_SKIP("python3 with torch: set HFTRAIN_TEST_PYTHON");
  // Its two kinds of rendezvous: a fixed port, and one of its choice.
  const testing::ReservedPort reserved;
  const std::string port = std::to_string(reserved.number());
  for (const std::vector<std::string>& rendezvous :
       {std::vector<std::string>{"--master_port", port}, std::vector<std::string>{"--standalone"}}) {
    std::vector<std::string> argv = {python, "-m", "torch.distributed.run", "--nproc_per_node", "2"};
    argv.insert(argv.end(), rendezvous.begin(), rendezvous.end());
    argv.insert(argv.end(), {"--no-python", testing::program("dummy_front"), "meet"});
    WatchedProcess run(argv);
    CHECK(run.finish() == 0);
    INFO(rendezvous.front() << ": " << run.err());
    CHECK(sorted(run.out()) == lines_of(2, "torchrun"));
  }
}

}  // namespace hftrain::launcher
