#include "launcher/front/stop_flag.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
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

// A pipe that nobody reads, and that holds no more.
void fill_standard_error() {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK) != 0) ::_exit(2);
  const std::string text(4096, 'x');
  while (::write(ends[1], text.data(), text.size()) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  ::dup2(ends[1], STDERR_FILENO);
}

}  // namespace

// But SIGHUP, which may be ignored here.
TEST_CASE("what stops a run stops its preparation, too") {
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU}) {
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

TEST_CASE("a program that has not begun ends at a stop signal, also where its terminal takes no text",
          "[process]") {
  const pid_t child = testing::fork_child();
  if (child == 0) {
    fill_standard_error();
    ::alarm(20);
    const LeaveOnStop until_started;
    ::raise(SIGTERM);
    ::_exit(1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::kTerminatedUnsaved));
}

}  // namespace hftrain::front
