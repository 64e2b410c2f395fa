#include "launcher/control/own_machine.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hftrain::launcher {

std::string host_name() {
  char host[256] = {};
  ::gethostname(host, sizeof(host) - 1);
  return host;
}

std::string machine_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::error_code ignored;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", ignored);
  return boot + ' ' + network.string() + ' ' + host_name();
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return cores;  // more cores than the set holds: unknown
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

plan::AgentFacts own_facts(const Membership& membership, const plan::Topology& topology,
                           const std::optional<std::string>& nproc_per_node, bool joins_mpi) {
  plan::AgentFacts facts;
  facts.agent = membership.agent;
  facts.host = host_name();
  facts.machine = machine_identity();
  facts.topology = topology;
  facts.cores = allowed_cores();
  facts.nproc_per_node = nproc_per_node;
  facts.assigned = membership.assigned;
  facts.joins_mpi = joins_mpi && membership.assigned && membership.started_by == "mpirun";
  return facts;
}

}  // namespace hftrain::launcher
