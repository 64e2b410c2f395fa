// Catch2's main, stricter in what passes: a case without an assertion and a name that finds no case fail, and
// a test that was left because this machine cannot run it has an exit status of its own. ctest takes that
// status, not the words, for a skip: a case that skips one of its parts can still fail.
#define CATCH_CONFIG_RUNNER
#include "support/skip.h"

int main(int argc, char** argv) {
  Catch::Session session;
  if (const int wrong = session.applyCommandLine(argc, argv); wrong != 0) return wrong;
  using Warnings = Catch::WarnAbout;
  session.configData().warnings = static_cast<Warnings::What>(Warnings::NoAssertions | Warnings::NoTests);
  const int failed = session.run();
  if (failed == hftrain::testing::kSkipped) return 1;  // so many assertions that it would read as a skip
  return failed == 0 && hftrain::testing::is_skipped() ? hftrain::testing::kSkipped : failed;
}
