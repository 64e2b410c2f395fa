#include "hftrain/base/expanded_path.h"

#include "support/catch.h"

namespace hftrain {

TEST_CASE("homes and variables in a path are what Python's expanduser and expandvars make of them") {
  Environment environment;
  environment.set("HOME", "/home/me");
  environment.set("FOO", "/data");
  const auto expanded = [&](const char* path) { return expanded_path(path, environment); };
  CHECK(expanded("~") == "/home/me");
  CHECK(expanded("~/x") == "/home/me/x");
  CHECK(expanded("~other/x") == "~other/x");
  CHECK(expanded("/a/~/x") == "/a/~/x");
  CHECK(expanded("$FOO/hub") == "/data/hub");
  CHECK(expanded("/a${FOO}b$FOO") == "/a/datab/data");
  CHECK(expanded("$FOOB/${NONE}/$") == "$FOOB/${NONE}/$");
  CHECK(expanded("${FOO") == "${FOO");
  CHECK(expanded("") == "");
  CHECK(with_home("~/$FOO", "/me") == "/me/$FOO");
  CHECK(with_home("~/x", "") == "~/x");
}

}  // namespace hftrain
