#include "launcher/supervision/rendezvous.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "launcher/control/addresses.h"
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

TEST_CASE("no free port is not told as port 0 that somebody uses") {
  const std::string taken = cannot_listen(29500, EADDRINUSE, "--master_port").render();
  CHECK(taken.starts_with("error: cannot listen on port 29500\n  where: --master_port\n  why: it is in use"));
  const Error none = cannot_listen(0, EADDRINUSE, "--master_port");
  CHECK(none.code() == ExitCode::kEnvironment);
  const std::string said = none.render();
  CHECK(said.starts_with("error: there is no free port to listen on\n  where: net.ipv4.ip_local_port_range"));
  CHECK(said.find("port 0") == std::string::npos);
  CHECK(said.find("--master_port") == std::string::npos);
  CHECK(said.find("all ports that this machine hands out are in use") != std::string::npos);
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

TEST_CASE("ranks that are told several addresses meet at those and at no other one") {
  const Rendezvous rendezvous = bind_rendezvous_at({"127.0.0.2", "127.0.0.3"});
  CHECK(rendezvous.address == "127.0.0.2");
  std::string why;
  for (const char* told : {"127.0.0.2", "127.0.0.3"}) {
    const FileDescriptor client = connect_to({told, rendezvous.port}, "", 30, why);
    INFO(told << ": " << why);
    REQUIRE(client);
    const FileDescriptor served(::accept4(rendezvous.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(served);
    CHECK(local_address_of(served.get()).find(told) != std::string::npos);
    char byte = 'a';
    REQUIRE(::send(client.get(), &byte, 1, 0) == 1);
    byte = 0;
    REQUIRE(::recv(served.get(), &byte, 1, 0) == 1);
    CHECK(byte == 'a');
  }
  // Whoever knocks there is not even refused.
  for (const char* other : {"127.0.0.1", "127.0.0.4", "::1"}) {
    INFO(other);
    CHECK_FALSE(connect_to({other, rendezvous.port}, "", 0.5, why));
  }
}

TEST_CASE("the rendezvous of an address that all are told is bound there") {
  const Rendezvous rendezvous = bind_rendezvous_at({"127.0.0.2"});
  CHECK(local_address_of(rendezvous.listener.get()) == "127.0.0.2");
  CHECK(rendezvous.address == "127.0.0.2");
}

}  // namespace hftrain::launcher
