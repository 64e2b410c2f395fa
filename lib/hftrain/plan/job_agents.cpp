#include "hftrain/plan/job_agents.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace hftrain::plan {

// By hand: a device holds devices, and the macro wants a complete type.
void to_json(Json& json, const CudaDevice& device);
void from_json(const Json& json, CudaDevice& device);

void to_json(Json& json, const CudaDevice& device) {
  json = {{"index", device.index},
          {"uuid", device.uuid},
          {"name", device.name},
          {"pci_bus_id", device.pci_bus_id},
          {"total_bytes", device.total_bytes},
          {"free_bytes", device.free_bytes},
          {"compute_major", device.compute_major},
          {"compute_minor", device.compute_minor},
          {"mig_enabled", device.mig_enabled},
          {"instances", device.instances}};
}

void from_json(const Json& json, CudaDevice& device) {
  json.at("index").get_to(device.index);
  json.at("uuid").get_to(device.uuid);
  json.at("name").get_to(device.name);
  json.at("pci_bus_id").get_to(device.pci_bus_id);
  json.at("total_bytes").get_to(device.total_bytes);
  json.at("free_bytes").get_to(device.free_bytes);
  json.at("compute_major").get_to(device.compute_major);
  json.at("compute_minor").get_to(device.compute_minor);
  json.at("mig_enabled").get_to(device.mig_enabled);
  json.at("instances").get_to(device.instances);
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VisibleDevice, mask_entry, device)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(VisibleDevices, devices, notes, order_known)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostResources, allowed_cores, machine_cores, quota_cores,
                                   requested_threads, threads_variable, memory_bytes, available_bytes,
                                   memory_limit_bytes, widens_bfloat16)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Topology, devices, visible, mask, device_order, driver_version,
                                   cuda_version, gpu_problem, host)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AssignedRank, rank, local_rank, world_size, local_world_size)

void to_json(Json& json, const AgentFacts& facts) {
  json = {{"agent", facts.agent},
          {"host", facts.host},
          {"machine", facts.machine},
          {"processes", facts.processes},
          {"output_folder", facts.output_folder},
          {"topology", facts.topology},
          {"cores", facts.cores},
          {"nproc_per_node", facts.nproc_per_node},
          {"assigned", facts.assigned},
          {"joins_mpi", facts.joins_mpi}};
}

void from_json(const Json& json, AgentFacts& facts) {
  json.at("agent").get_to(facts.agent);
  json.at("host").get_to(facts.host);
  json.at("machine").get_to(facts.machine);
  json.at("processes").get_to(facts.processes);
  json.at("output_folder").get_to(facts.output_folder);
  json.at("topology").get_to(facts.topology);
  json.at("cores").get_to(facts.cores);
  json.at("nproc_per_node").get_to(facts.nproc_per_node);
  json.at("assigned").get_to(facts.assigned);
  json.at("joins_mpi").get_to(facts.joins_mpi);
}

namespace {

// The cores of each of a machine's processes: as many as the first has, its own and then those of their starter that are
// left. Where the first is not bound, and may use all that its starter may, or cores do not suffice, all use what it does.
std::vector<std::vector<int>> cores_by_position(const std::vector<int>& first,
                                                const std::vector<int>& of_starter, int processes) {
  std::vector<std::vector<int>> all(static_cast<size_t>(processes), first);
  std::vector<int> left;
  std::copy_if(of_starter.begin(), of_starter.end(), std::back_inserter(left),
               [&](int core) { return std::find(first.begin(), first.end(), core) == first.end(); });
  if (left.size() < first.size() * (all.size() - 1)) return all;
  auto next = left.begin();
  for (size_t i = 1; i < all.size() && !left.empty(); ++i) {
    all[i].assign(next, next + static_cast<std::ptrdiff_t>(first.size()));
    next += static_cast<std::ptrdiff_t>(first.size());
  }
  return all;
}

}  // namespace

std::vector<AgentFacts> like_this_one(const AgentFacts& here, int agents,
                                      const std::vector<int>& cores_of_starter) {
  std::vector<AgentFacts> all(static_cast<size_t>(agents), here);
  const int of_machine = here.assigned ? std::max(1, here.assigned->local_world_size) : 1;
  const auto cores = cores_by_position(here.cores, cores_of_starter, of_machine);
  for (int i = 0; i < agents; ++i) {
    AgentFacts& facts = all[static_cast<size_t>(i)];
    facts.agent = i;
    int machine = i;
    if (facts.assigned) {
      machine = i / of_machine;
      facts.assigned->rank = i;
      facts.assigned->local_rank = i % of_machine;
      facts.cores = cores[static_cast<size_t>(i % of_machine)];
    }
    if (machine == 0) continue;
    facts.host = "node " + std::to_string(machine) + ", taken to be like " + here.host;
    facts.machine += " " + std::to_string(machine);
  }
  return all;
}

}  // namespace hftrain::plan
