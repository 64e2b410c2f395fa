#include "hftrain/comm/local_address.h"

#include "hftrain/base/error.h"
#include "support/catch.h"

using namespace hftrain;

TEST_CASE("towards an address of this machine the local address is that address") {
  CHECK(comm::local_address_towards("127.0.0.1") == "127.0.0.1");
}

TEST_CASE("a host that cannot be resolved is an error of the environment that names it") {
  try {
    comm::local_address_towards("no-such-host.invalid");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().where == "no-such-host.invalid");
  }
}
