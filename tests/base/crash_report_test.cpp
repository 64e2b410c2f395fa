#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "hftrain/base/fault_handlers.h"
#include "hftrain/base/file.h"
#include "hftrain/base/hash.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

struct Ended {
  int status = 0;
  std::string said;  // on standard error
};

// Of a process with the report, which does `work`.
Ended run(const std::function<void()>& work) {
  const testing::TemporaryDirectory folder;
  const std::string log = folder / "log";
  append_to_file(log, "");
  const pid_t child = testing::fork_child();
  if (child == 0) {
    ::dup2(::open(log.c_str(), O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    install_crash_report();
    work();
    ::_exit(0);
  }
  Ended ended;
  ::waitpid(child, &ended.status, 0);
  ended.said = read_file(log);
  return ended;
}

TEST_CASE("a mapped file that becomes shorter while it is read is named, and is code 4", "[process]") {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "weights";
  write_file_atomically(path, std::string(3 << 20, 'x'));
  const Ended ended = run([&] {
    const MappedFile file(path);
    if (::truncate(path.c_str(), 4096) != 0) ::_exit(99);
    volatile char last = file.bytes().back();
    (void)last;
  });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == static_cast<int>(ExitCode::kData));
  CHECK_THAT(ended.said,
             Catch::Contains("error: a file could not be read to its end\n  where: " + path + "\n"));
  CHECK_THAT(ended.said, Catch::Contains("why: ") && Catch::Contains("try: "));
}

TEST_CASE("any other crash is told with its stack and ends by its signal", "[process]") {
  const Ended ended = run([] {
    volatile uintptr_t nowhere = 24;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGSEGV);
  CHECK_THAT(ended.said, Catch::Contains("error: internal: the program crashed: Segmentation fault\n"));
  CHECK_THAT(ended.said, Catch::Contains("test_base"));
}

TEST_CASE("hashing reads and maps nothing, so that no file can end it by a signal") {
  const testing::TemporaryDirectory folder;
  const std::string content(3 << 20, 'x');
  write_file_atomically(folder / "f", content);
  CHECK(hash_file(folder / "f") == hash_bytes(content));
  const std::string pipe = folder / "pipe";  // cannot be mapped
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { append_to_file(pipe, content); });
  CHECK(hash_file(pipe) == hash_bytes(content));
  writer.join();
}

}  // namespace
}  // namespace hftrain
