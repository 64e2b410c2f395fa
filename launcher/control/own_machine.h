// What an agent knows of the machine it runs on, as it reports it to agent 0.
#pragma once

#include <string>
#include <vector>

#include "hftrain/plan/job_agents.h"
#include "launcher/environments/membership.h"

namespace hftrain::launcher {

// `joins_mpi`: the MPI back end is installed here.
plan::AgentFacts own_facts(const Membership& membership, const plan::Topology& topology,
                           const std::optional<std::string>& nproc_per_node, bool joins_mpi);

}  // namespace hftrain::launcher
