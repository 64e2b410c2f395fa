#include "launcher/control/preflight.h"

#include "support/catch.h"

namespace hftrain::launcher {
namespace {

Introduction agent(int number, std::map<std::string, std::string> arguments = {}) {
  Introduction introduction;
  introduction.facts.agent = number;
  introduction.facts.host = "host-" + std::to_string(number);
  introduction.facts.machine = "machine-" + std::to_string(number);
  introduction.facts.topology.host.available_bytes = int64_t{4} << 30;
  introduction.facts.cores = {0, 1};
  introduction.address = "10.0.0." + std::to_string(number);
  introduction.interface = "eth0";
  introduction.arguments = std::move(arguments);
  return introduction;
}

}  // namespace

TEST_CASE("equal arguments are no mistake, in any number of nodes") {
  CHECK_FALSE(differing_arguments({agent(0)}));
  CHECK_FALSE(
      differing_arguments({agent(0, {{"seed", "1"}}), agent(1, {{"seed", "1"}}), agent(2, {{"seed", "1"}})}));
}

TEST_CASE("each argument that differs is named once, with both values and nodes") {
  const auto error = differing_arguments({agent(0, {{"seed", "1"}, {"bf16", "true"}, {"max_steps", "5"}}),
                                          agent(1, {{"seed", "2"}, {"bf16", "true"}, {"max_steps", "5"}}),
                                          agent(2, {{"seed", "3"}, {"bf16", "true"}})});
  REQUIRE(error);
  CHECK(error->code() == ExitCode::kUsage);
  REQUIRE(error->diagnostics().size() == 2);
  CHECK(error->diagnostics()[0].what == "--max_steps is not the same on all nodes");
  CHECK(error->diagnostics()[0].why == "it is not given on node 2 (host-2), and 5 on node 0 (host-0)");
  CHECK(error->diagnostics()[1].where == "node 1 (host-1)");
  CHECK(error->diagnostics()[1].why == "it is 2 on node 1 (host-1), and 1 on node 0 (host-0)");
}

TEST_CASE("what rightly differs between nodes is not compared") {
  const Json arguments = {{"seed", 1},
                          {"node_rank", 1},
                          {"machine_rank", 1},
                          {"local_rank", 0},
                          {"master_addr", "x"},
                          {"nproc_per_node", "2"},
                          {"color", "always"},
                          {"output_dir", "out"},
                          {"log_level", "error"},
                          {"log_level_replica", "info"}};
  CHECK(comparable_arguments(arguments) ==
        std::map<std::string, std::string>{{"seed", "1"}, {"output_dir", "\"out\""}});
}

TEST_CASE("weights that are not the same on all nodes are named with the nodes and the first file") {
  const auto with = [](int number, std::map<std::string, std::string> model,
                       std::map<std::string, std::string> adapter = {}) {
    Introduction introduction = agent(number);
    introduction.model = {"/m" + std::to_string(number), std::move(model)};
    introduction.adapter = {adapter.empty() ? "" : "/a", std::move(adapter)};
    return introduction;
  };
  CHECK_FALSE(differing_weights({agent(0), agent(1)}));
  CHECK_FALSE(differing_weights({with(0, {{"a", "1"}}), with(1, {{"a", "1"}})}));
  CHECK_FALSE(
      differing_weights({with(0, {{"a", "1"}}), agent(1)}));  // it could not open any, and says so itself
  const auto error =
      differing_weights({with(0, {{"a", "1"}, {"b", "1"}, {"c", "1"}}),
                         with(1, {{"a", "1"}, {"b", "2"}, {"c", "2"}}), with(2, {{"a", "1"}})});
  REQUIRE(error);
  CHECK(error->code() == ExitCode::kData);
  CHECK(error->diagnostics()[0].what == "the weights of the model are not the same on all nodes");
  CHECK(error->diagnostics()[0].where == "/m1 on node 1 (host-1), node 2 (host-2)");
  CHECK(error->diagnostics()[0].why == "b is another one there than on node 0 (host-0)");
  const auto missing = differing_weights({with(0, {{"b", "1"}}), with(1, {})});
  REQUIRE(missing);
  CHECK(missing->diagnostics()[0].why == "b is on node 0 (host-0) and not there");
  const auto adapter = differing_weights({with(0, {}), with(1, {}, {{"d", "1"}})});
  REQUIRE(adapter);
  CHECK(adapter->diagnostics()[0].what == "the weights of the adapter are not the same on all nodes");
  CHECK(adapter->diagnostics()[0].why == "d is there and not on node 0 (host-0)");
}

TEST_CASE("one agent of each machine is a peer: the first that answers") {
  Introduction first = agent(0), second = agent(1), third = agent(2), fourth = agent(3);
  second.facts.machine = first.facts.machine;
  third.answer_port = second.answer_port = first.answer_port = 4711;
  third.answer = "third";
  const std::vector<Peer> peers = peers_of({first, second, third, fourth});
  REQUIRE(peers.size() == 2);
  CHECK(peers[0].agent == 0);
  CHECK(peers[1].agent == 2);
  CHECK(peers[1].address == "10.0.0.2");
  CHECK(peers[1].port == 4711);
  CHECK(peers[1].answer == "third");
}

TEST_CASE("machines that cannot talk are named once per pair, with the way that is closed") {
  const std::vector<Introduction> agents = {agent(0), agent(1), agent(2)};
  CHECK_FALSE(unreached_machines(agents, {}));
  CHECK_FALSE(unreached_machines(agents, {{0, {}}, {1, {}}}));
  const auto error = unreached_machines(
      agents, {{0, {{2, "no answer in 0:00:05"}}}, {1, {{2, "refused"}}}, {2, {{1, "no route"}}}});
  REQUIRE(error);
  CHECK(error->code() == ExitCode::kEnvironment);
  REQUIRE(error->diagnostics().size() == 2);
  CHECK(error->diagnostics()[0].what == "node 0 (host-0) cannot reach node 2 (host-2)");
  CHECK(error->diagnostics()[0].where == "from 10.0.0.0 on eth0 to 10.0.0.2 on eth0");
  CHECK(error->diagnostics()[0].why == "no answer in 0:00:05; the other way is open");
  CHECK(error->diagnostics()[1].what == "node 1 (host-1) and node 2 (host-2) cannot reach each other");
  CHECK(error->diagnostics()[1].why == "refused; back: no route");
}

TEST_CASE("the description of the agents has a line per machine, whatever the number of its agents") {
  Introduction second = agent(1);
  second.facts.machine = "machine-0";
  second.facts.cores = {2, 3};
  Introduction third = agent(2);
  plan::CudaDevice device;
  device.name = "H200";
  third.facts.topology.visible.devices = {{"0", device}, {"1", device}};
  CHECK(describe_agents({agent(0), second, third}) ==
        std::vector<std::string>{
            "host-0, 10.0.0.0 on eth0: nodes 0 to 1, 4 cores, 4.0 GiB free memory, no GPU",
            "host-2, 10.0.0.2 on eth0: node 2, 2 cores, 4.0 GiB free memory, 2 GPUs (H200)"});
}

}  // namespace hftrain::launcher
