#include "launcher/control/own_machine.h"

#include "hftrain/machine/cpu_map.h"
#include "hftrain/machine/identity.h"

namespace hftrain::launcher {

plan::AgentFacts own_facts(const Membership& membership, const plan::Topology& topology,
                           const std::optional<std::string>& nproc_per_node, bool joins_mpi) {
  plan::AgentFacts facts;
  facts.agent = membership.agent;
  facts.host = machine::host_name();
  facts.machine = machine::machine_identity();
  facts.processes = machine::process_namespace();
  facts.topology = topology;
  facts.cores = machine::allowed_cpus();
  facts.nproc_per_node = nproc_per_node;
  facts.assigned = membership.assigned;
  facts.joins_mpi = joins_mpi && membership.assigned && membership.started_by == "mpirun";
  return facts;
}

}  // namespace hftrain::launcher
