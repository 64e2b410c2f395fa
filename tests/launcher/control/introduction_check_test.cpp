// What a peer says of itself before a job begins.
#include "launcher/control/introduction_check.h"

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "contains.h"
#include "support/catch.h"

namespace hftrain::launcher {
namespace {

constexpr int kHuge = std::numeric_limits<int>::max();

Introduction machine() {
  Introduction introduction;
  introduction.address = "10.0.0.2";
  introduction.answer_port = 4711;
  introduction.facts.cores = {0, 1, 255};
  introduction.facts.topology.host.allowed_cores = 256;
  introduction.facts.topology.host.quota_cores = 1.5;
  introduction.facts.topology.devices.resize(1);
  introduction.facts.topology.visible.devices.resize(1);
  return introduction;
}

}  // namespace

TEST_CASE("what machines say of themselves is taken") {
  CHECK_FALSE(unfit_introduction(machine(), "node 1"));
  for (const char* ranks : {"auto", "cpu", "gpu", "1", "99999"}) {
    Introduction asks = machine();
    asks.facts.nproc_per_node = ranks;
    CHECK_FALSE(unfit_introduction(asks, "node 1"));
  }
  for (const plan::AssignedRank& assigned :
       std::vector<plan::AssignedRank>{{0, 0, 1, 1}, {7, -1, 8, 0}, {7, 3, 8, 4}}) {
    Introduction given = machine();
    given.facts.assigned = assigned;
    CHECK_FALSE(unfit_introduction(given, "node 1"));
  }
  Introduction other = machine();
  other.address = "fd00::1";
  CHECK_FALSE(unfit_introduction(other, "node 1"));
}

TEST_CASE("a value that no machine has is refused by its name, and with whose it is") {
  using Change = std::function<void(Introduction&)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"its address", [](auto& all) { all.address = "example.org"; }},
      {"its address", [](auto& all) { all.address = ""; }},
      {"answer_port", [](auto& all) { all.answer_port = 65536; }},
      {"answer_port", [](auto& all) { all.answer_port = -1; }},
      {"nproc_per_node", [](auto& all) { all.facts.nproc_per_node = "x"; }},
      {"nproc_per_node", [](auto& all) { all.facts.nproc_per_node = "99999999999999999999"; }},
      {"nproc_per_node", [](auto& all) { all.facts.nproc_per_node = "-3"; }},
      {"nproc_per_node", [](auto& all) { all.facts.nproc_per_node = "300000"; }},
      {"a number of its cores", [](auto& all) { all.facts.cores = {-1}; }},
      {"allowed_cores", [](auto& all) { all.facts.topology.host.allowed_cores = kHuge; }},
      {"allowed_cores", [](auto& all) { all.facts.topology.host.allowed_cores = 0; }},
      {"quota_cores", [](auto& all) { all.facts.topology.host.quota_cores = 1e300; }},
      {"quota_cores", [](auto& all) { all.facts.topology.host.quota_cores = -1; }},
      {"requested_threads", [](auto& all) { all.facts.topology.host.requested_threads = kHuge; }},
      {"memory_bytes", [](auto& all) { all.facts.topology.host.memory_bytes = -1; }},
      {"the number of visible GPUs", [](auto& all) { all.facts.topology.visible.devices.resize(5000); }},
      {"the memory of a GPU", [](auto& all) { all.facts.topology.devices.front().total_bytes = -1; }},
      {"its rank",
       [](auto& all) {
         all.facts.assigned = plan::AssignedRank{2, 0, 2, 1};
       }},
      {"its local rank",
       [](auto& all) {
         all.facts.assigned = plan::AssignedRank{1, kHuge, 2, 1};
       }},
      {"its local world size", [](auto& all) {
         all.facts.assigned = plan::AssignedRank{1, 0, 2, kHuge};
       }}};
  for (const auto& [said, change] : changes) {
    Introduction introduction = machine();
    change(introduction);
    const auto error = unfit_introduction(introduction, "node 1 (host-b)");
    INFO(said);
    REQUIRE(error);
    CHECK(error->code() == ExitCode::kUsage);
    CHECK(error->diagnostics().front().where == "node 1 (host-b)");
    CHECK(testing::contains(error->diagnostics().front().why, std::string(said) + " is "));
  }
}

}  // namespace hftrain::launcher
