#include "hftrain/base/error.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>
#include <thread>

#include "hftrain/base/caught_error.h"
#include "support/catch.h"
#include "support/fork.h"
#include "support/no_threads.h"
#include "support/skip.h"
#include "support/temporary_directory.h"

namespace hftrain {
namespace {

TEST_CASE("an error has four parts, each on a line of its own, and says what was being done") {
  Error error(ExitCode::kData, "cannot read it");
  error.where("a.txt:3:1").why("it is torn").hint("make it anew").context("loading the model");
  CHECK(error.render() ==
        "error: cannot read it\n  where: a.txt:3:1\n  why: it is torn\n  try: make it anew\n  while: loading "
        "the model");
  CHECK(error.code() == ExitCode::kData);
  CHECK(std::string(error.what()) == "cannot read it");
}

TEST_CASE("parts that nobody gave leave no empty lines") {
  CHECK(Error(ExitCode::kUsage, "no").render() == "error: no");
}

TEST_CASE("several mistakes are shown at once, warnings as such") {
  const Error error(ExitCode::kUsage, {{Diagnostic::Severity::kError, "first", "", "", ""},
                                       {Diagnostic::Severity::kWarning, "second", "x", "", ""}});
  CHECK(error.render() == "error: first\nwarning: second\n  where: x");
}

TEST_CASE("whatever was thrown becomes an error with an exit code of its own") {
  const auto caught = [](const auto& thrown) { return error_of(std::make_exception_ptr(thrown)); };
  const std::error_code denied = std::make_error_code(std::errc::permission_denied);
  const std::error_code full = std::make_error_code(std::errc::no_space_on_device);
  CHECK(caught(Error(ExitCode::kData, "torn")).render() == "error: torn");
  CHECK(caught(std::bad_alloc()).code() == ExitCode::kHostMemory);
  CHECK(caught(std::filesystem::filesystem_error("look", "/locked", denied)).code() ==
        ExitCode::kEnvironment);
  CHECK(caught(std::filesystem::filesystem_error("look", "/locked", denied)).render().find("/locked") !=
        std::string::npos);
  CHECK(caught(std::filesystem::filesystem_error("write", "/full", full)).code() == ExitCode::kDisk);
  CHECK(caught(std::out_of_range("beyond")).code() == ExitCode::kInternal);
  CHECK(caught(7).code() == ExitCode::kInternal);
}

TEST_CASE("a thread that the system does not start is no mistake of this program's") {
  const auto error_of_thread = [] {
    try {
      std::thread([] {}).join();
    } catch (...) {
      return error_of(std::current_exception());
    }
    return Error(ExitCode::kDone, "started");
  };
  {
    const testing::NoThreads none;
    CHECK(error_of_thread().code() == ExitCode::kEnvironment);
    CHECK_THAT(error_of_thread().render(), Catch::Contains("ulimit -u"));
  }
  CHECK(error_of_thread().code() == ExitCode::kDone);
  const std::system_error other(std::make_error_code(std::errc::resource_deadlock_would_occur));
  CHECK(error_of(std::make_exception_ptr(other)).code() == ExitCode::kInternal);
}

TEST_CASE("a full disk and a write error are disk errors whoever asks; the rest is the caller's") {
  CHECK(system_error(ENOSPC, "cannot write", "f", ExitCode::kData).code() == ExitCode::kDisk);
  CHECK(system_error(EDQUOT, "cannot write", "f", ExitCode::kData).code() == ExitCode::kDisk);
  CHECK(system_error(EIO, "cannot read", "f", ExitCode::kData).code() == ExitCode::kDisk);
  CHECK(system_error(ENOENT, "cannot read", "f", ExitCode::kData).code() == ExitCode::kData);
  CHECK(system_error(ENOMEM, "cannot map", "f", ExitCode::kData).code() == ExitCode::kHostMemory);
  CHECK(system_error(ENOMEM, "cannot map", "f").render().find("ulimit -v") != std::string::npos);
  // Whoever meets it may be a command that has another name for its folder, or none.
  for (const int full : {ENOSPC, EDQUOT, EFBIG})
    CHECK(system_error(full, "cannot write", "f").render().find("--") == std::string::npos);
  CHECK(system_error(ENOENT, "cannot read", "f").render().find("No such file") != std::string::npos);
}

TEST_CASE("a file system without room for further files is told from one without free bytes") {
  const testing::TemporaryDirectory folder;
  const pid_t child = testing::fork_child();
  if (child == 0) {  // whose mounts nobody else sees
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m,nr_inodes=1") != 0)
      ::_exit(testing::kSkipped);
    const std::string text = system_error(ENOSPC, "cannot create", folder / "new/file").render();
    ::_exit(text.find("no room for further files") != std::string::npos &&
                    text.find("df -i") != std::string::npos
                ? 0
                : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == testing::kSkipped) HFTRAIN_SKIP("file systems cannot be mounted here");
  CHECK(WEXITSTATUS(status) == 0);
  const std::string usual = system_error(ENOSPC, "cannot create", folder / "file").render();
  CHECK(usual.find("why: No space left on device") != std::string::npos);
}

TEST_CASE("every documented exit code has a name") {
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130, 143}) {
    CHECK(std::string(exit_code_name(static_cast<ExitCode>(code))) != "unknown");
  }
}

}  // namespace
}  // namespace hftrain
