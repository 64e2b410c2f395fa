#include "launcher/front/stop_flag.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "hftrain/base/exit_code.h"
#include "support/catch.h"
#include "support/fork.h"

namespace hftrain::front {
namespace {

// The exit status of a process that gets the signals at once.
int status_after(const std::vector<int>& signals) {
  const pid_t child = testing::fork_child();
  if (child == 0) {
    const StopFlag stop;
    for (const int signal : signals) ::raise(signal);
    ::_exit(stop.is_set() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

// But SIGHUP, which may be ignored here.
TEST_CASE("what stops a run stops its preparation, too") {
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2}) {
    const StopFlag stop;
    CHECK_FALSE(stop.is_set().load());
    CHECK(first_stop_signal() == 0);
    ::raise(signal);
    CHECK(stop.is_set().load());
    CHECK(first_stop_signal() == signal);
  }
}

TEST_CASE("two signals of one wish end no front program at once, a second Ctrl-C does") {
  CHECK(status_after({SIGTERM, SIGQUIT, SIGUSR1}) == 0);
  CHECK(status_after({SIGINT, SIGTERM}) == 0);
  CHECK(status_after({SIGINT, SIGINT}) == static_cast<int>(ExitCode::kTerminatedUnsaved));
}

}  // namespace hftrain::front
