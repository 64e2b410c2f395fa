#include "launcher/control/introduction_check.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/base/json.h"

namespace hftrain::launcher {
namespace {

constexpr int kMostCores = 1 << 16;
constexpr size_t kMostDevices = 1 << 10;
constexpr int kMostPort = 65535;

bool is_numeric_address(const std::string& address) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), nullptr, &wanted, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

bool is_core_count(int cores) {
  return cores >= 1 && cores <= kMostCores;
}

bool is_device(const plan::CudaDevice& device) {
  return device.total_bytes >= 0 && device.free_bytes >= 0 && device.instances.size() <= kMostDevices;
}

// Values by the names that they have in the message.
class Check {
 public:
  void that(bool fits, std::string_view name, const Json& value) {
    if (!fits && wrong_.empty()) wrong_ = std::string(name) + " is " + dump_json(value, -1).substr(0, 100);
  }
  const std::string& wrong() const { return wrong_; }

 private:
  std::string wrong_;
};

void check_host(const plan::HostResources& host, Check& check) {
  check.that(is_core_count(host.allowed_cores), "allowed_cores", host.allowed_cores);
  check.that(host.machine_cores >= 0 && host.machine_cores <= kMostCores, "machine_cores",
             host.machine_cores);
  const double quota = host.quota_cores.value_or(1);
  check.that(quota > 0 && quota <= kMostCores, "quota_cores", quota);
  const int threads = host.requested_threads.value_or(1);
  check.that(is_core_count(threads), "requested_threads", threads);
  check.that(host.memory_bytes >= 0, "memory_bytes", host.memory_bytes);
  check.that(host.memory_limit_bytes.value_or(0) >= 0, "memory_limit_bytes",
             host.memory_limit_bytes.value_or(0));
}

void check_devices(const plan::Topology& topology, Check& check) {
  const auto& visible = topology.visible.devices;
  check.that(visible.size() <= kMostDevices, "the number of visible GPUs", visible.size());
  check.that(topology.devices.size() <= kMostDevices, "the number of GPUs", topology.devices.size());
  const bool all = std::all_of(topology.devices.begin(), topology.devices.end(), is_device) &&
                   std::all_of(visible.begin(), visible.end(),
                               [](const plan::VisibleDevice& each) { return is_device(each.device); });
  check.that(all, "the memory of a GPU", "below 0");
}

void check_ranks(const plan::AgentFacts& facts, Check& check) {
  check.that(!facts.nproc_per_node || arguments::says_rank_count(*facts.nproc_per_node), "nproc_per_node",
             facts.nproc_per_node.value_or(""));
  const bool cores = facts.cores.size() <= kMostCores &&
                     std::all_of(facts.cores.begin(), facts.cores.end(),
                                 [](int core) { return core >= 0 && core < kMostCores; });
  check.that(cores, "a number of its cores", "below 0 or beyond " + std::to_string(kMostCores));
  if (!facts.assigned) return;
  const auto& [rank, local_rank, world_size, local_world_size] = *facts.assigned;
  check.that(rank >= 0 && rank < world_size, "its rank", rank);
  check.that(local_rank >= -1 && local_rank < world_size, "its local rank", local_rank);
  check.that(local_world_size >= 0 && local_world_size <= world_size, "its local world size",
             local_world_size);
}

}  // namespace

std::optional<Error> unfit_introduction(const Introduction& introduction, const std::string& name) {
  Check check;
  check.that(is_numeric_address(introduction.address), "its address", introduction.address);
  check.that(introduction.answer_port >= 0 && introduction.answer_port <= kMostPort, "answer_port",
             introduction.answer_port);
  check_ranks(introduction.facts, check);
  check_host(introduction.facts.topology.host, check);
  check_devices(introduction.facts.topology, check);
  if (check.wrong().empty()) return std::nullopt;
  return Error(ExitCode::kUsage, "what " + name + " says of itself cannot be")
      .where(name)
      .why(check.wrong())
      .hint("see what was started as that node; all nodes run one build of this program");
}

}  // namespace hftrain::launcher
