// Ctrl-Z (SIGTSTP) stops this program and the children that go on with it: each has a process group of its own (child_process.h), which the
// terminal does not know, and would train on while the program that reads its output stands still. `fg`, `bg` and SIGCONT let all go on.
//
// Thread-safe; the table of groups is read by a signal handler.
#pragma once

#include <signal.h>
#include <sys/types.h>

namespace hftrain::launcher {

// Once per process, from its main thread, before it starts children. Nothing happens where SIGTSTP is ignored.
void install_terminal_stop();

// The process group of a child from now on stops and goes on with this program. Groups beyond kMostGroups do not.
inline constexpr int kMostGroups = 1024;
void stop_with_us(pid_t group);
// To be called before the child is reaped: its number may be another group's afterwards. Nothing for a group that is not there.
void leave_alone(pid_t group);

// While one lives Ctrl-Z waits for the thread that made it. Around a fork: a child that is stopped before it has its own group, or before
// that is in the table, would not be let go on.
class NoTerminalStop {
 public:
  NoTerminalStop();
  NoTerminalStop(const NoTerminalStop&) = delete;
  NoTerminalStop& operator=(const NoTerminalStop&) = delete;
  ~NoTerminalStop();

 private:
  sigset_t previous_;
};

}  // namespace hftrain::launcher
