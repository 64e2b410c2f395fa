#include "hftrain/comm/local_address.h"

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"

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

TEST_CASE("an interface is one of this machine's, and one that is not there is refused with those that are") {
  using Addresses = std::vector<std::string>;
  CHECK(comm::addresses_of_interfaces("lo") == Addresses{"127.0.0.1"});
  CHECK(comm::addresses_of_interfaces("lo, lo") == Addresses{"127.0.0.1", "127.0.0.1"});
  CHECK_REFUSED(comm::addresses_of_interfaces("lo,no-such-one"),
                "there is no network interface 'no-such-one'");
  CHECK_REFUSED(comm::addresses_of_interfaces("no-such-one"), "lo (127.0.0.1)");
  CHECK_REFUSED(comm::addresses_of_interfaces("no-such-one"), "where: GLOO_SOCKET_IFNAME=no-such-one");
}
