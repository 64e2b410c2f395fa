// Catch2's main, stricter in what passes: a case without an assertion and a name that finds no case fail, and
// a test that was left because this machine cannot run it has an exit status of its own. ctest takes that
// status, not the words, for a skip: a case that skips one of its parts can still fail.
#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "support/skip.h"

namespace {

bool asserted_nothing = false;

// Catch2's own warning looks at each section, and a section may set up what is asserted after it.
struct CountAssertions : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.total() > 0) return;
    asserted_nothing = true;
    std::cout << "no assertion in: " << stats.testInfo.name << std::endl;
  }
};

CATCH_REGISTER_LISTENER(CountAssertions)

// The destructors of LibTorch's static objects are a third of what a process that does nothing takes with it, and free
// what the kernel frees anyway. Sanitizers look when a process ends.
[[noreturn]] void leave(int status) {
  std::cout.flush();
  std::fflush(nullptr);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ::_exit(status);
#endif
  std::exit(status);
}

int run_tests(int argc, char** argv) {
  Catch::Session session;
  if (const int wrong = session.applyCommandLine(argc, argv); wrong != 0) return wrong;
  session.configData().warnings = Catch::WarnAbout::NoTests;
  const int failed = session.run();
  // So many failed assertions would read as a skip.
  if (asserted_nothing || failed == hftrain::testing::kSkipped) return 1;
  return failed == 0 && hftrain::testing::is_skipped() ? hftrain::testing::kSkipped : failed;
}

}  // namespace

int main(int argc, char** argv) {
  leave(run_tests(argc, argv));
}
