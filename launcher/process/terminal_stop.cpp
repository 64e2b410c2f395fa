#include "launcher/process/terminal_stop.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace hftrain::launcher {
namespace {

std::array<std::atomic<pid_t>, kMostGroups> groups{};  // 0: free
static_assert(std::atomic<pid_t>::is_always_lock_free, "it is read in a signal handler");

void signal_groups(int number) {
  for (const std::atomic<pid_t>& group : groups) {
    if (const pid_t id = group.load(); id != 0) ::kill(-id, number);
  }
}

void act_by(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTSTP, &action, nullptr);
}

// Stops as without a handler: the kernel knows when nobody could let it go on (an orphaned process group), and passes it over then.
void stop_here() {
  act_by(SIG_DFL);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here it stands, until SIGCONT
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

void on_terminal_stop(int) {
  const int error_number = errno;
  signal_groups(SIGTSTP);
  stop_here();
  act_by(on_terminal_stop);  // also where two threads were here at once
  signal_groups(SIGCONT);
  errno = error_number;
}

bool replace(pid_t from, pid_t to) {
  for (std::atomic<pid_t>& group : groups) {
    pid_t expected = from;
    if (group.compare_exchange_strong(expected, to)) return true;
  }
  return false;
}

}  // namespace

void install_terminal_stop() {
  struct sigaction action {};
  ::sigaction(SIGTSTP, nullptr, &action);
  if (action.sa_handler != SIG_IGN) act_by(on_terminal_stop);
}

NoTerminalStop::NoTerminalStop() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::pthread_sigmask(SIG_BLOCK, &stop, &previous_);
}

NoTerminalStop::~NoTerminalStop() {
  ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

void stop_with_us(pid_t group) {
  replace(0, group);
}

void leave_alone(pid_t group) {
  replace(group, 0);
}

}  // namespace hftrain::launcher
