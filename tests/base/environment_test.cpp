#include "hftrain/base/environment.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "support/catch.h"

namespace hftrain {
namespace {

TEST_CASE("a snapshot holds values with equals signs and empty ones") {
  ::setenv("HFTRAIN_TEST_VARIABLE", "a=b", 1);
  ::setenv("HFTRAIN_TEST_EMPTY", "", 1);
  const Environment environment = Environment::of_process();
  CHECK(environment.get("HFTRAIN_TEST_VARIABLE") == "a=b");
  CHECK(environment.get("HFTRAIN_TEST_EMPTY") == "");
  CHECK(environment.get("HFTRAIN_TEST_ABSENT") == std::nullopt);
}

TEST_CASE("without HOME the password file says where it is") {
  const std::string before = Environment::of_process().get_or("HOME", "");
  ::setenv("HOME", "/elsewhere", 1);
  CHECK(Environment::of_process().get("HOME") == "/elsewhere");
  ::setenv("HOME", "", 1);
  CHECK(Environment::of_process().get("HOME") == "");
  ::unsetenv("HOME");
  const passwd* user = ::getpwuid(::getuid());
  CHECK(Environment::of_process().get("HOME") ==
        (user == nullptr ? std::nullopt : std::optional<std::string>(user->pw_dir)));
  ::setenv("HOME", before.c_str(), 1);
}

TEST_CASE("changes stay in the snapshot") {
  Environment environment;
  environment.set("A", "1");
  environment.set("B", "2");
  environment.unset("A");
  CHECK(environment.as_strings() == std::vector<std::string>{"B=2"});
  CHECK(environment.get_or("A", "gone") == "gone");
  CHECK(::getenv("B") == nullptr);
}

}  // namespace
}  // namespace hftrain
