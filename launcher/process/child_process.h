// One child process: started from an argument vector, led into its own process group, reaped exactly once.
//
// The child gets: no standard input (/dev/null) unless it is given one, its standard output and error in
// pipes, the descriptors asked for at fixed numbers and no other descriptor, default signal handling, and
// SIGKILL when the thread that started it dies, so that nothing outlives a launcher killed with -9. Owned by
// the launcher's one thread; start children from that thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/environment.h"
#include "hftrain/base/file.h"

namespace hftrain::launcher {

// How a process ended: by a signal, or by itself with an exit code of 0 to 255.
struct ExitStatus {
  int signal = 0;  // 0: it exited by itself
  int code = 0;

  bool operator==(const ExitStatus&) const = default;
};

struct InheritedDescriptor {
  int from = -1;  // open in this process; stays owned by the caller
  int to = -1;    // its number in the child: 3 or more, or 0 for a standard input
};

struct ChildSpec {
  std::vector<std::string> argv;  // argv[0] is the path of the program; no search along PATH
  Environment environment;
  std::vector<InheritedDescriptor> descriptors;
  std::vector<int> cpus{};    // that it is bound to; empty: those of this process
  bool stops_with_us = true;  // at Ctrl-Z (terminal_stop.h)
};

class ChildProcess {
 public:
  // Returns once the program runs. When it cannot be started (not found, not executable, out of processes, …)
  // the child reports the reason itself and this throws an Error with ExitCode::kEnvironment.
  explicit ChildProcess(const ChildSpec& spec);
  ChildProcess(ChildProcess&&) noexcept = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills and reaps what still runs.
  ~ChildProcess();

  pid_t pid() const noexcept { return pid_; }
  // Readable once the process has ended; for poll(). Always there: without one it is not started.
  int exit_descriptor() const noexcept { return pidfd_.get(); }
  // Reading ends of its standard output and error, non-blocking. The caller may take them.
  FileDescriptor& standard_output() noexcept { return stdout_; }
  FileDescriptor& standard_error() noexcept { return stderr_; }

  // To the process alone. Nothing happens when it has ended.
  void send(int signal) const noexcept;
  // SIGKILL to the process and to whatever it started in its group.
  void kill_group() const noexcept;
  // The exit status once the process has ended, else nothing. Also ends what is left of its group. Call until
  // it returns a value; later calls return the same value.
  std::optional<ExitStatus> reap();
  // Waits for the end, and reaps. A process that is traced (strace -f) has ended to its parent later than its exit
  // descriptor says.
  ExitStatus wait();

 private:
  pid_t pid_ = -1;
  FileDescriptor pidfd_;
  FileDescriptor stdout_;
  FileDescriptor stderr_;
  std::optional<ExitStatus> status_;
};

// Readable once the process `pid` has ended. Error(kEnvironment) where the system gives none.
FileDescriptor open_process(pid_t pid);

// Whether poll() finds `events` of `descriptor` within that time, whatever signals come meanwhile: Ctrl-Z is one.
bool answers_within(int descriptor, short events, double seconds);

// A pipe whose ends are closed on exec; the reading end does not block.
struct Pipe {
  FileDescriptor reading;
  FileDescriptor writing;
};
Pipe make_pipe();

}  // namespace hftrain::launcher
