#include "hftrain/comm/local_address.h"

#include <net/if.h>

#include <memory>

#include "hftrain/base/error.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/skip.h"

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
  // Beginnings and signs mean something in NCCL_SOCKET_IFNAME alone.
  for (const char* name : {"l", "=lo", "^lo"}) {
    INFO(name);
    CHECK_REFUSED(comm::addresses_of_interfaces(name),
                  "there is no network interface '" + std::string(name) + "'");
  }
}

TEST_CASE("a list of interfaces with an empty part is not told as an interface that is not there") {
  for (const char* names : {"lo,", ",lo", "lo,,lo", "lo, ", ",", " "}) {
    INFO(names);
    CHECK_REFUSED(comm::addresses_of_interfaces(names),
                  "a name is missing in the list of network interfaces\n  where: GLOO_SOCKET_IFNAME=" +
                      std::string(names));
  }
  CHECK_REFUSED(comm::addresses_of_interfaces("lo,,lo"), "try: GLOO_SOCKET_IFNAME=lo,lo");
  CHECK_REFUSED(comm::addresses_of_interfaces(","), "try: the name of an interface, or leave");
}

TEST_CASE("an interface that is down or has no address is not told as one that is not there") {
  struct if_nameindex* all = ::if_nameindex();
  REQUIRE(all != nullptr);
  const std::unique_ptr<struct if_nameindex, decltype(&::if_freenameindex)> owner(all, &::if_freenameindex);
  int silent = 0;
  for (const struct if_nameindex* each = all; each->if_index != 0; ++each) {
    try {
      comm::addresses_of_interfaces(each->if_name);
    } catch (const Error& error) {
      INFO(error.render());
      CHECK(std::string(error.what()) ==
            "the network interface '" + std::string(each->if_name) + "' is down, or has no address");
      ++silent;
    }
  }
  if (silent == 0) HFTRAIN_SKIP("every interface of this machine has an address");
}
