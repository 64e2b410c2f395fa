#include "hftrain/base/environment.h"

#include <stdlib.h>

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
