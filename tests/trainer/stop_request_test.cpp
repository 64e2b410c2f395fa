#include "hftrain/trainer/stop_request.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "support/catch.h"
#include "support/fork.h"

namespace hftrain::trainer {
namespace {

constexpr int kStrange = 100;  // in an exit code: SIGUSR2 came from another process than the parent

// A process with the handlers, which waits for signals; it ends with 0 when it is told to by its pipe.
class Worker {
 public:
  Worker() {
    REQUIRE(::pipe(ready_) == 0);
    REQUIRE(::pipe(end_) == 0);
    pid_ = testing::fork_child();
    if (pid_ == 0) {
      ::close(end_[1]);
      StopRequest::install_handlers();
      char byte = 0;
      [[maybe_unused]] const ssize_t told = ::write(ready_[1], "r", 1);
      // A read is taken up again after a signal.
      [[maybe_unused]] const ssize_t ended = ::read(end_[0], &byte, 1);
      const bool strange = StopRequest::stranger().pid > 0 && StopRequest::stranger().signal == SIGUSR2;
      ::_exit(static_cast<int>(StopRequest::seen()) + (strange ? kStrange : 0));
    }
    char byte = 0;
    REQUIRE(::read(ready_[0], &byte, 1) == 1);
  }
  ~Worker() {
    for (const int fd : {ready_[0], ready_[1], end_[0]}) ::close(fd);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // By this process, which is its parent, as the front program is.
  void ask_as_parent(int signal) const { ::kill(pid_, signal); }
  // By another process, as systemd and pkill are.
  void ask_as_other(int signal, int times = 1) const {
    const std::string command = "kill -" + std::to_string(signal) + ' ' + std::to_string(pid_);
    // By one shell: that a second one starts may take longer than a wish lasts. Without a pause the kernel makes one of both.
    REQUIRE(std::system((command + (times == 2 ? "; sleep 0.02; " + command : "")).c_str()) == 0);
  }
  // Its exit code; told to end where `end`, else waited for.
  int finish(bool end) {
    if (end) ::close(end_[1]);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    if (!end) ::close(end_[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int ready_[2], end_[2];
  pid_t pid_ = -1;
};

constexpr int kSaves = static_cast<int>(StopSignal::kTerminate);
constexpr int kLost = 10;

TEST_CASE("a stop that reaches a worker and its launcher, which passes it on, is one wish", "[process]") {
  const bool other_first = GENERATE(true, false);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    INFO(signal);
    Worker worker;
    if (other_first) worker.ask_as_other(signal);
    worker.ask_as_parent(signal);
    if (!other_first) worker.ask_as_other(signal);
    const auto kind = signal == SIGINT ? StopSignal::kInterrupt : StopSignal::kTerminate;
    CHECK(worker.finish(true) == static_cast<int>(kind));
  }
}

TEST_CASE("a service manager that signals a worker twice at once does not lose its save", "[process]") {
  Worker worker;
  worker.ask_as_other(SIGTERM, 2);
  CHECK(worker.finish(true) == kSaves);
}

TEST_CASE("a scheduler's signal long after the launcher's own does not lose the save", "[process]") {
  Worker worker;
  worker.ask_as_parent(SIGTERM);  // its time is over
  ::poll(nullptr, 0, StopRequest::kOneWishSeconds * 1000 + 100);
  worker.ask_as_other(SIGTERM);
  CHECK(worker.finish(true) == kSaves);
}

TEST_CASE("who asked is known, where the launcher has not", "[process]") {
  // One at a time: a later one would hold the pipe by which an earlier one is told to end.
  {
    Worker asked;
    asked.ask_as_other(SIGUSR2);
    CHECK(asked.finish(true) == kSaves + kStrange);
  }
  {
    Worker launched;
    launched.ask_as_parent(SIGUSR2);
    CHECK(launched.finish(true) == kSaves);
  }
  Worker both;
  both.ask_as_other(SIGUSR2);
  both.ask_as_parent(SIGTERM);  // of two equal ones the kernel may make one
  CHECK(both.finish(true) == kSaves);
}

TEST_CASE("the launcher's second signal ends a worker at once", "[process]") {
  Worker worker;
  worker.ask_as_parent(SIGTERM);
  worker.ask_as_parent(SIGUSR1);  // of two equal ones the kernel may make one
  CHECK(worker.finish(false) == kLost);
}

TEST_CASE("somebody else who asks again and again does not put off his second wish", "[process]") {
  Worker worker;
  for (int i = 0; i < 3; ++i) {
    if (i > 0) ::poll(nullptr, 0, StopRequest::kOneWishSeconds * 1000 * 3 / 5);
    worker.ask_as_other(SIGTERM);
  }
  CHECK(worker.finish(true) == kLost);
}

TEST_CASE("a limit on processor time asks a worker to save, however often the kernel says so", "[process]") {
  Worker worker;
  worker.ask_as_other(SIGXCPU);
  ::poll(nullptr, 0, StopRequest::kOneWishSeconds * 1000 + 100);
  worker.ask_as_other(SIGXCPU);
  worker.ask_as_other(SIGTERM);  // the first wish of anybody
  CHECK(worker.finish(true) == kSaves);
}

TEST_CASE("a second wish of somebody else ends a worker without its save", "[process]") {
  Worker worker;
  worker.ask_as_other(SIGTERM);
  ::poll(nullptr, 0, StopRequest::kOneWishSeconds * 1000 + 100);
  worker.ask_as_other(SIGTERM);
  CHECK(worker.finish(false) == kLost);
}

}  // namespace
}  // namespace hftrain::trainer
