#include "hftrain/runtime/failed_device.h"

#include <c10/util/Exception.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <stdexcept>

#include "support/catch.h"
#include "support/fork.h"

using namespace hftrain;

namespace {

// Pinned memory that a failed device does not take back.
struct Pinned {
  ~Pinned() { fail(); }  // noexcept, as destructors are
  static void fail() {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 710, "device-side assert triggered");
  }
};

void fail_otherwise() {
  throw std::runtime_error("another");
}

void end_in_a_way_of_its_own() noexcept {
  fail_otherwise();
}

// What a process ends with that throws while such memory is held; `said`: by the report, one byte.
int end_of(void (*run)(), bool& said) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = testing::fork_child();
  if (child == 0) {
    const runtime::FailedDeviceReport report([&](const Error& error) {
      const char byte = error.code() == ExitCode::kEnvironment ? '!' : '?';
      ::_exit(::write(pipe[1], &byte, 1) == 1 ? static_cast<int>(error.code()) : 99);
    });
    ::signal(SIGABRT, SIG_DFL);
    run();
    ::_exit(98);
  }
  ::close(pipe[1]);
  char byte = 0;
  said = ::read(pipe[0], &byte, 1) == 1 && byte == '!';
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a failed device is told also where giving back its memory ends the process") {
  bool said = false;
  CHECK(end_of(
            [] {
              try {
                const Pinned memory;
                Pinned::fail();
              } catch (const std::exception&) {
                ::_exit(97);
              }
            },
            said) == static_cast<int>(ExitCode::kEnvironment));
  CHECK(said);
}

TEST_CASE("what is no device's ends a process as it did") {
  bool said = false;
  CHECK(end_of(&end_in_a_way_of_its_own, said) == -SIGABRT);
  CHECK_FALSE(said);
  CHECK(end_of([] { std::terminate(); }, said) == -SIGABRT);
  CHECK_FALSE(said);
}
