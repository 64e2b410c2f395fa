#include "launcher/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "launcher/process/terminal_stop.h"

namespace hftrain::launcher {
namespace {

// What the child tells its parent when it cannot become the program.
struct StartFailure {
  int error_number = 0;
  char step[32] = {};
};

// Everything the child needs, made before the fork: after it only async-signal-safe calls are allowed.
struct PreparedStart {
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<InheritedDescriptor> descriptors;  // 1 and 2 included
  std::optional<cpu_set_t> cpus;
  pid_t parent = -1;
  int failure_fd = -1;
};

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void fail_in_child(const PreparedStart& start, const char* step) {
  StartFailure failure;
  failure.error_number = errno;
  std::strncpy(failure.step, step, sizeof(failure.step) - 1);
  // The parent reads it whole: far below PIPE_BUF.
  [[maybe_unused]] const ssize_t written = ::write(start.failure_fd, &failure, sizeof(failure));
  ::_exit(127);
}

void reset_signals() {
  ::signal(SIGTSTP,
           SIG_IGN);  // forgets one that came before this had its own group: nobody would let it go on
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Moves the descriptors to their numbers and marks all others to close on exec.
void arrange_descriptors(PreparedStart& start) {
  int highest = STDERR_FILENO;
  for (const InheritedDescriptor& wanted : start.descriptors) highest = std::max(highest, wanted.to);
  // First all out of the way, so that no target number is still a source.
  const int failure_fd = ::fcntl(start.failure_fd, F_DUPFD_CLOEXEC, highest + 1);
  if (failure_fd < 0) fail_in_child(start, "duplicate a descriptor");
  start.failure_fd = failure_fd;
  for (InheritedDescriptor& wanted : start.descriptors) {
    wanted.from = ::fcntl(wanted.from, F_DUPFD_CLOEXEC, highest + 1);
    if (wanted.from < 0) fail_in_child(start, "duplicate a descriptor");
  }
  const int null = ::open("/dev/null", O_RDONLY);
  if (null < 0 || ::dup2(null, STDIN_FILENO) < 0) fail_in_child(start, "open /dev/null");
  ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(highest), CLOSE_RANGE_CLOEXEC);
  for (const InheritedDescriptor& wanted : start.descriptors) {
    if (::dup2(wanted.from, wanted.to) < 0) fail_in_child(start, "place a descriptor");
  }
  ::close_range(static_cast<unsigned>(highest) + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

[[noreturn]] void become_program(PreparedStart& start) {
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail_in_child(start, "ask for a parent-death signal");
  if (::getppid() != start.parent) ::_exit(127);  // the launcher died before the request took effect
  arrange_descriptors(start);
  reset_signals();
  if (start.cpus && ::sched_setaffinity(0, sizeof(*start.cpus), &*start.cpus) != 0)
    fail_in_child(start, "bind to CPUs");
  ::execve(start.argv[0], start.argv.data(), start.environment.data());
  fail_in_child(start, "execute");
}

// Blocks until the child has become the program (the pipe closes) or has said why not.
std::optional<StartFailure> wait_for_start(int failure_fd) {
  pollfd ready{failure_fd, POLLIN, 0};
  while (::poll(&ready, 1, -1) < 0 && errno == EINTR) {
  }
  StartFailure failure;
  if (::read(failure_fd, &failure, sizeof(failure)) != sizeof(failure)) return std::nullopt;
  return failure;
}

std::optional<cpu_set_t> set_of(const std::vector<int>& cpus) {
  if (cpus.empty()) return std::nullopt;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  return set;
}

Error cannot_start(const std::string& program, const std::string& step, int error_number) {
  Error error(ExitCode::kEnvironment, "cannot start " + program);
  error.where(program).why(step + ": " + std::strerror(error_number));
  error.hint("see whether it can be started from a shell of this user's");
  if (error_number == EACCES || error_number == EPERM)
    error.hint("see whether this user may start it (ls -l), and whether its file system is mounted noexec");
  if (error_number == ENOENT)
    error.hint("build or install it: workers lie beside the hftrain program, others on PATH");
  if (error_number == EAGAIN) error.hint("raise the limit on processes (ulimit -u) or start fewer ranks");
  if (error_number == EMFILE || error_number == ENFILE)
    error.hint("allow more open files (ulimit -n) or start fewer ranks");
  return error;
}

}  // namespace

FileDescriptor open_process(pid_t pid) {
  FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process) return process;
  const int number = errno;
  Error error = system_error(number, "cannot watch a process", "process " + std::to_string(pid));
  if (number == ENOSYS || number == EPERM)
    error.hint("Linux 5.3 or later is needed, and a container that allows pidfd_open");
  throw error;
}

bool answers_within(int descriptor, short events, double seconds) {
  const double until = monotonic_seconds() + seconds;
  pollfd awaited{descriptor, events, 0};
  int found = 0;
  do {
    found = ::poll(&awaited, 1, milliseconds_until(until));
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error(errno, "cannot make a pipe", "for a worker's output");
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  ::fcntl(pipe.reading.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

ChildProcess::ChildProcess(const ChildSpec& spec) {
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe failure = make_pipe();
  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> environment = spec.environment.as_strings();
  PreparedStart start{pointers_to(argv), pointers_to(environment), spec.descriptors, set_of(spec.cpus),
                      ::getpid(),        failure.writing.get()};
  start.descriptors.push_back({out.writing.get(), STDOUT_FILENO});
  start.descriptors.push_back({err.writing.get(), STDERR_FILENO});

  const NoTerminalStop whole;
  pid_ = ::fork();
  if (pid_ < 0) throw cannot_start(spec.argv[0], "fork", errno);
  if (pid_ == 0) become_program(start);
  ::setpgid(pid_, pid_);  // also here: a signal to the group must not come before the child gets to it
  try {
    pidfd_ = open_process(pid_);
  } catch (...) {  // nobody would notice its end
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    throw;
  }
  failure.writing.reset();
  if (const std::optional<StartFailure> reported = wait_for_start(failure.reading.get())) {
    ::waitpid(pid_, nullptr, 0);
    throw cannot_start(spec.argv[0], reported->step, reported->error_number);
  }
  stdout_ = std::move(out.reading);
  stderr_ = std::move(err.reading);
  if (spec.stops_with_us) stop_with_us(pid_);
}

ChildProcess::~ChildProcess() {
  if (!pidfd_ || status_) return;  // moved from, or reaped
  leave_alone(pid_);
  kill_group();
  ::waitpid(pid_, nullptr, 0);
}

void ChildProcess::send(int signal) const noexcept {
  if (!status_) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

void ChildProcess::kill_group() const noexcept {
  if (!status_) ::kill(-pid_, SIGKILL);
}

std::optional<ExitStatus> ChildProcess::reap() {
  if (status_) return status_;
  siginfo_t info{};
  // WNOWAIT first: while the process is unreaped its number cannot be given to another group.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  leave_alone(pid_);
  ::kill(-pid_, SIGKILL);
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED);
  status_ = info.si_code == CLD_EXITED ? ExitStatus{0, info.si_status} : ExitStatus{info.si_status, 0};
  return status_;
}

ExitStatus ChildProcess::wait() {
  siginfo_t info{};
  while (!status_ && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR)
      throw system_error(errno, "cannot hear how a process ended", "process " + std::to_string(pid_));
  }
  return reap().value();
}

}  // namespace hftrain::launcher
