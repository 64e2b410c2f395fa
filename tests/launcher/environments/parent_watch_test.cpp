#include "launcher/environments/parent_watch.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/skip.h"

namespace hftrain::launcher {
namespace {

constexpr int kNoNamespace = 77;
int g_said = -1;

void say(char word) {
  [[maybe_unused]] const ssize_t written = ::write(g_said, &word, 1);
}

// What a process said next; 0: nothing within 20 seconds.
char heard(int from) {
  pollfd ready{from, POLLIN, 0};
  char word = 0;
  if (::poll(&ready, 1, 20'000) <= 0 || ::read(from, &word, 1) != 1) return 0;
  return word;
}

TEST_CASE("a process is asked to stop when the one that started it is killed", "[process]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  g_said = ends[1];
  const pid_t parent = testing::fork_child();
  if (parent == 0) {
    if (::fork() == 0) {
      ::signal(SIGTERM, [](int) {
        say('t');
        ::_exit(0);
      });
      const ParentWatch watch;
      say('w');
      ::poll(nullptr, 0, 20'000);
      ::_exit(1);
    }
    ::pause();
  }
  CHECK(heard(ends[0]) == 'w');
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  CHECK(heard(ends[0]) == 't');
  for (const int end : ends) ::close(end);
}

// Of a container: its first process is 1 to itself, and its parent is out of its snapshot.
int watch_from_a_new_namespace() {
  if (::unshare(CLONE_NEWPID) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) return kNoNamespace;
  const pid_t first = ::fork();
  if (first == 0) {
    try {
      const ParentWatch watch;
      ::_exit(::getppid() == 0 && !watch.parent_is_gone() ? 0 : 1);
    } catch (const Error&) {
      ::_exit(2);
    }
  }
  int status = 0;
  ::waitpid(first, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

TEST_CASE("a parent outside the container is not watched, and is no reason not to start", "[process]") {
  const pid_t child = testing::fork_child();
  if (child == 0) ::_exit(watch_from_a_new_namespace());
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) HFTRAIN_SKIP("the right to make a process namespace");
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace hftrain::launcher
