// Processes that a test program forks go with it: a time limit, a crash or Ctrl-C leaves nobody behind.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace hftrain::testing {

// This process is killed when the thread that started it ends.
inline void end_with_parent() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// As fork(), with a child that does so.
inline pid_t fork_child() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  end_with_parent();
  if (::getppid() != parent) ::_exit(1);  // it was gone before
  return 0;
}

}  // namespace hftrain::testing
