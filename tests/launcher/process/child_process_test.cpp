#include "launcher/process/child_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/paths.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

std::string read_all(FileDescriptor& pipe) {
  std::string text;
  char buffer[4096];
  for (;;) {
    pollfd ready{pipe.get(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    const ssize_t count = ::read(pipe.get(), buffer, sizeof(buffer));
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

ChildSpec dummy(std::vector<std::string> words) {
  words.insert(words.begin(), testing::program("dummy_worker"));
  return {words, Environment(), {}};
}

// Traces `pid`, lets `traced` know, and once it has ended keeps that from its parent for a while.
[[noreturn]] void trace_beyond_the_end(pid_t pid, int traced) {
  const char answer = ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 'y' : 'n';
  if (::write(traced, &answer, 1) != 1 || answer == 'n') ::_exit(1);
  siginfo_t end{};
  ::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOWAIT);
  constexpr useconds_t kMicroseconds = 200'000;
  ::usleep(kMicroseconds);
  ::_exit(0);
}

}  // namespace

TEST_CASE("every exit code from 0 to 255 comes back as it was", "[process]") {
  for (int code = 0; code < 256; ++code) {
    ChildProcess child(dummy({"exit:" + std::to_string(code)}));
    CHECK(child.wait() == ExitStatus{0, code});
  }
}

TEST_CASE("a child ended by a signal says which", "[process]") {
  for (const int signal : {SIGKILL, SIGTERM, SIGUSR1, SIGPIPE, SIGHUP, SIGALRM}) {
    ChildProcess child(dummy({"signal:" + std::to_string(signal)}));
    CHECK(child.wait() == ExitStatus{signal, 0});
  }
}

TEST_CASE("a child has the environment it was given and no other", "[process]") {
  ChildProcess child(
      {{"/usr/bin/env"}, Environment(std::map<std::string, std::string>{{"A", "1"}, {"B", "x y=z"}}), {}});
  CHECK(read_all(child.standard_output()) == "A=1\nB=x y=z\n");
}

TEST_CASE("a child has only the descriptors it was given", "[process]") {
  const Pipe stray = make_pipe();
  const int inheritable = ::dup(stray.reading.get());  // not closed on exec
  ChildSpec spec = dummy({"descriptors"});
  spec.descriptors = {{stray.writing.get(), 5}, {inheritable, 3}};
  ChildProcess child(spec);
  const std::string line = read_all(child.standard_output());
  ::close(inheritable);
  for (const char* expected : {" 0", " 1", " 2", " 3", " 5"}) CHECK(line.find(expected) != std::string::npos);
  CHECK(line.size() == std::string("descriptors 0 1 2 3 5\n").size());
}

TEST_CASE("descriptors can trade places", "[process]") {
  // The parent's numbers are each other's targets.
  Pipe a = make_pipe();
  Pipe b = make_pipe();
  ChildSpec spec{
      {"/bin/sh", "-c",
       "echo a >&" + std::to_string(b.writing.get()) + "; echo b >&" + std::to_string(a.writing.get())},
      Environment(),
      {{a.writing.get(), b.writing.get()}, {b.writing.get(), a.writing.get()}}};
  ChildProcess child(spec);
  a.writing.reset();
  b.writing.reset();
  CHECK(read_all(a.reading) == "a\n");
  CHECK(read_all(b.reading) == "b\n");
}

TEST_CASE("a child's standard input is empty, its signals are at their defaults and none is blocked",
          "[process]") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  ::signal(SIGPIPE, SIG_IGN);
  ChildProcess child(
      {{"/bin/sh", "-c", "cat; grep -E 'SigBlk|SigIgn' /proc/self/status"}, Environment(), {}});
  const std::string text = read_all(child.standard_output());
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK(text == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("a program that cannot be executed is an environment error that says why", "[process]") {
  const testing::TemporaryDirectory folder;
  write_file_atomically(folder / "text", "not a program");
  const auto reason = [](const std::string& program) {
    try {
      ChildProcess child({{program}, Environment(), {}});
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kEnvironment);
      return error.diagnostics().front().what + ": " + error.diagnostics().front().why;
    }
    return std::string("started");
  };
  CHECK(reason("/no/such/worker") == "cannot start /no/such/worker: execute: No such file or directory");
  CHECK(reason(folder / "text") == "cannot start " + (folder / "text") + ": execute: Permission denied");
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // nothing is left to reap
}

TEST_CASE("a child whose end nobody could notice is not started", "[process]") {
  // In a process of its own, whose limit on open files leaves room for the pipes and for nothing to watch by.
  const pid_t process = testing::fork_child();
  if (process == 0) {
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next) + 6, static_cast<rlim_t>(next) + 6};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    try {
      const ChildProcess child(dummy({"hang"}));
      ::_exit(1);
    } catch (const Error& error) {
      const bool said = error.render().find("Too many open files") != std::string::npos;
      const bool nothing_left = ::waitpid(-1, nullptr, WNOHANG) == -1;
      ::_exit(error.code() == ExitCode::kEnvironment && said && nothing_left ? 0 : 2);
    }
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a child that has too few descriptors to become its program is told of the limit on open files",
          "[process]") {
  const pid_t process = testing::fork_child();
  if (process == 0) {
    const int next = ::dup(STDERR_FILENO);
    ::close(next);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    // Some number is enough for three pipes and what watches the child, and not for the child itself; what the test was started with
    // may stand in between.
    for (int more = 6; more < 32; ++more) {
      limit.rlim_cur = static_cast<rlim_t>(next + more);
      ::setrlimit(RLIMIT_NOFILE, &limit);
      try {
        const ChildProcess child(dummy({"hang"}));
        ::_exit(1);
      } catch (const Error& error) {
        const Diagnostic& said = error.diagnostics().front();
        const bool names_limit = said.hint.find("ulimit -n") != std::string::npos;
        if (said.what.starts_with("cannot start ")) ::_exit(names_limit ? 0 : 2);
      }
    }
    ::_exit(3);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a child that is dropped is killed and reaped", "[process]") {
  { ChildProcess child(dummy({"ignore-stops", "hang"})); }
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a traced child, which ends for its parent later than it seems, is waited for", "[process]") {
  ChildProcess child(dummy({"hang"}));
  Pipe traced = make_pipe();
  const pid_t tracer = testing::fork_child();
  if (tracer == 0) trace_beyond_the_end(child.pid(), traced.writing.get());
  pollfd answered{traced.reading.get(), POLLIN, 0};
  ::poll(&answered, 1, -1);
  char answer = 'n';
  REQUIRE(::read(traced.reading.get(), &answer, 1) == 1);
  if (answer == 'n') {
    ::waitpid(tracer, nullptr, 0);
    HFTRAIN_SKIP("this machine lets no process trace one that is not its child");
  }
  child.send(SIGKILL);
  pollfd ended{child.exit_descriptor(), POLLIN, 0};
  ::poll(&ended, 1, -1);
  CHECK(!child.reap());
  CHECK(child.wait() == ExitStatus{SIGKILL, 0});
  CHECK(::waitpid(tracer, nullptr, 0) == tracer);
}

TEST_CASE("reaping a child ends what it left behind in its group", "[process]") {
  ChildProcess child(dummy({"child", "exit:3"}));
  CHECK(child.wait() == ExitStatus{0, 3});
  CHECK(read_all(child.standard_output()).empty());  // would wait for ever if something held the pipe
  CHECK(child.reap() == ExitStatus{0, 3});
}

TEST_CASE("a signal, as that of Ctrl-Z, does not cut a wait short", "[process]") {
  struct sigaction nothing {};
  struct sigaction previous {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  ::sigaction(SIGTSTP, &nothing, &previous);
  Pipe pipe = make_pipe();
  const pthread_t waiting = ::pthread_self();
  constexpr double kSeconds = 0.5;
  std::thread others([&] {
    for (int times = 0; times < 4; ++times) {
      ::poll(nullptr, 0, 50);
      ::pthread_kill(waiting, SIGTSTP);
    }
  });
  const double begin = monotonic_seconds();
  CHECK(!answers_within(pipe.reading.get(), POLLIN, kSeconds));
  CHECK(monotonic_seconds() - begin >= kSeconds);
  others.join();
  pipe.writing.reset();
  CHECK(answers_within(pipe.reading.get(), POLLIN, kSeconds));
  ::sigaction(SIGTSTP, &previous, nullptr);
}

}  // namespace hftrain::launcher
