// What ctest sees of cases that skip, fail, hold no assertion or are not found. The hidden cases here run in
// children only.
#include "support/skip.h"
#include "support/paths.h"

#include <sys/wait.h>

#include <cstdlib>
#include <string>

namespace hftrain::testing {
namespace {

// The exit status of this program with a case of this name alone, called as ctest calls it.
int status_of(const std::string& name) {
  const std::string self = program("test_support");
  const int status = std::system(("'" + self + "' '" + name + "' > /dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a case that was skipped is neither passed nor failed") {
  CHECK(status_of("hidden: skips") == kSkipped);
  CHECK(status_of("hidden: skips one of two") == kSkipped);
}

TEST_CASE("a case that fails has failed, though it skipped a part of itself") {
  CHECK(status_of("hidden: skips one of two and fails the other") == 1);
  CHECK(status_of("hidden: fails as often as the number of a skip") == 1);
}

TEST_CASE("a case without an assertion and a name that finds no case have failed") {
  CHECK(status_of("hidden: passes") == 0);
  CHECK(status_of("hidden: asserts nothing") != 0);
  CHECK(status_of("hidden: asserts nothing") != kSkipped);
  CHECK(status_of("no such case") != 0);
}

TEST_CASE("hidden: skips", "[.]") {
  HFTRAIN_SKIP("an example");
}

TEST_CASE("hidden: skips one of two", "[.]") {
  if (GENERATE(true, false)) HFTRAIN_SKIP("an example");
  CHECK(true);
}

TEST_CASE("hidden: skips one of two and fails the other", "[.]") {
  if (GENERATE(true, false)) HFTRAIN_SKIP("an example");
  CHECK(false);
}

TEST_CASE("hidden: fails as often as the number of a skip", "[.]") {
  for (int i = 0; i < kSkipped; ++i) CHECK(i < 0);
}

TEST_CASE("hidden: passes", "[.]") {
  CHECK(true);
}

TEST_CASE("hidden: asserts nothing", "[.]") {}

}  // namespace hftrain::testing
