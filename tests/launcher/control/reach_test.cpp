// Machines that are asked whether they can be reached, over the loopback address.
#include "launcher/control/reach.h"

#include <sys/socket.h>

#include "launcher/control/addresses.h"
#include "reserved_port.h"
#include "support/catch.h"

namespace hftrain::launcher {
namespace {

Peer peer_at(int agent, const AnswerPort& door) {
  return {agent, "127.0.0.1", door.port(), door.answer()};
}

}  // namespace

TEST_CASE("a peer that answers is reached, as often as it is asked") {
  const AnswerPort door({"127.0.0.1"});
  CHECK(unreached({peer_at(1, door), peer_at(2, door), peer_at(3, door)}, 60).empty());
  CHECK(unreached({peer_at(1, door)}, 60).empty());
  CHECK(unreached({}, 60).empty());
}

TEST_CASE("more peers than a process has descriptors for are tried in turn") {
  const AnswerPort door({"127.0.0.1"});
  const testing::ReservedPort nobody;
  std::vector<Peer> peers;
  for (int agent = 0; agent < 700; ++agent) peers.push_back(peer_at(agent, door));
  peers.back().port = nobody.number();
  const auto reasons = unreached(peers, 60);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.begin()->first == 699);
}

TEST_CASE("a port where nothing listens, silence, another program and a wrong address each have their reason",
          "[alone]") {
  const AnswerPort door({"127.0.0.1"}), other({"127.0.0.1"});
  const testing::ReservedPort nobody;
  const FileDescriptor silent = listen_everywhere(0, "");
  Peer imposter = peer_at(4, other);
  imposter.answer = "host-4 of another machine\n";
  const auto reasons = unreached({peer_at(1, door),
                                  {2, "127.0.0.1", nobody.number(), "x"},
                                  {3, "127.0.0.1", port_of(silent.get()), "x"},
                                  imposter,
                                  {5, "node-5", 80, "x"}},
                                 3);
  CHECK(reasons.size() == 4);
  CHECK(reasons.at(2) == "Connection refused");
  CHECK(reasons.at(3) == "no answer in 0:00:03");
  CHECK(reasons.at(4) == "something else answers there");
  CHECK(reasons.at(5) == "'node-5' is no address");
}

TEST_CASE("a port that is no longer needed is closed at once") {
  int port = 0;
  {
    const AnswerPort door({"127.0.0.1"});
    port = door.port();
  }
  CHECK(unreached({{1, "127.0.0.1", port, "x"}}, 60).at(1) == "Connection refused");
}

TEST_CASE("an answer port is open at its addresses and at no other one") {
  const AnswerPort door({"127.0.0.1", "127.0.0.2"});
  const auto reasons = unreached({{1, "127.0.0.1", door.port(), door.answer()},
                                  {2, "127.0.0.2", door.port(), door.answer()},
                                  {3, "127.0.0.3", door.port(), door.answer()}},
                                 60);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.at(3) == "Connection refused");
}

}  // namespace hftrain::launcher
