#include "launcher/supervision/rendezvous.h"

#include <unistd.h>

#include <set>
#include <vector>

#include "hftrain/base/error.h"
#include "support/catch.h"

namespace hftrain::launcher {

TEST_CASE("many rendezvous at once have different free ports") {
  std::vector<Rendezvous> all;
  std::set<int> ports;
  for (int i = 0; i < 50; ++i) {
    all.push_back(bind_rendezvous());
    ports.insert(all.back().port);
  }
  CHECK(ports.size() == 50);
  CHECK(*ports.begin() > 0);
}

TEST_CASE("a fixed port in use is an environment error that names the process holding it") {
  const Rendezvous holder = bind_rendezvous();
  try {
    bind_rendezvous(holder.port);
    FAIL("bound a port twice");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kEnvironment);
    CHECK(error.diagnostics().front().where == "--master_port");
    CHECK(error.diagnostics().front().why.find("pid " + std::to_string(::getpid())) != std::string::npos);
  }
}

TEST_CASE("a fixed port is free again once its holder has closed it") {
  int port = 0;
  {
    const Rendezvous first = bind_rendezvous();
    port = first.port;
  }
  CHECK(bind_rendezvous(port).port == port);
  CHECK(port_holder(port).empty());
}

}  // namespace hftrain::launcher
