#include "support/fork.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::testing {
namespace {

namespace fs = std::filesystem;

// What is tested there outlives who has forked it, or has another one in its place.
const std::set<std::string> kForkThemselves = {"launcher/dummy_worker.cpp",
                                               "launcher/environments/parent_watch_test.cpp",
                                               "support/fork.h", "support/fork_test.cpp"};

}  // namespace

TEST_CASE("what a test forks goes with it, however that ends") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const pid_t test = fork_child();
  if (test == 0) {
    if (fork_child() == 0) {
      [[maybe_unused]] const ssize_t told = ::write(ends[1], "r", 1);
      ::poll(nullptr, 0, 60'000);
      ::_exit(0);
    }
    ::close(ends[1]);
    for (;;) ::pause();
  }
  REQUIRE(test > 0);
  ::close(ends[1]);
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 1);
  ::kill(test, SIGKILL);
  ::waitpid(test, nullptr, 0);
  pollfd closed{ends[0], POLLIN, 0};  // by the last who could write: what it had forked
  CHECK(::poll(&closed, 1, 20'000) == 1);
  ::close(ends[0]);
}

TEST_CASE("no test forks what could outlive it") {
  const fs::path tests = fs::path(source_dir()) / "tests";
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tests)) {
    const std::string name = entry.path().lexically_relative(tests).string();
    const bool source = entry.path().extension() == ".cpp" || entry.path().extension() == ".h";
    if (!source || kForkThemselves.contains(name)) continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    INFO(name << ": fork_child() of support/fork.h");
    CHECK(text.find("::fork()") == std::string::npos);
  }
}

}  // namespace hftrain::testing
