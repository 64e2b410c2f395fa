// The membership of this front program in its job: alone, or one of several that were started on their own
// machines (--nnodes and --node_rank, a host file, srun, mpirun with one process per node) or once per rank
// (mpirun, srun or torchrun with one process per rank). find_membership.h works it out.
//
//   agent   one front program of the job. It starts and watches the ranks that are its own; agent 0 leads: it
//           resolves the plan, prepares the run folder, judges the job and writes its summary.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/plan/job_agents.h"

namespace hftrain::launcher {

// Unset local numbers count among the ranks that meet on a machine.
using plan::AssignedRank;

// How the agents learn where agent 0 listens.
enum class Meeting {
  kNone,          // one agent: nobody to meet
  kFixedAddress,  // master_host:master_port is known to all; agent 0 binds it
  kPmix,          // agent 0 binds a free port and publishes it through PMIx (mpirun)
  kAgentStore,    // the same through the store that torchrun's agent keeps at master_host:master_port
};

struct Membership {
  // For people: "mpirun", "srun", "torchrun", "the environment", "--nnodes".
  std::string started_by = "hftrain";
  int agents = 1;
  int agent = 0;
  // By the environment; without one the agent spawns the ranks of its machine.
  std::optional<AssignedRank> assigned;
  Meeting meeting = Meeting::kNone;
  std::string master_host;  // of kFixedAddress and kAgentStore
  int master_port = 0;
  std::string local_address;  // --local_addr: of this machine, a name or a number; empty: not given
  // Whether a scheduler or a launcher starts the agents, each when its machine is ready (a pod may still fetch its image), and not
  // somebody who types and waits for an answer.
  bool by_scheduler = false;
  // Both of --rdzv_conf and its like. How long agents wait for each other; unset: agent 0 waits 300 s for the others, at most
  // --ddp_timeout, and a follower that a scheduler started tries to reach it for as long. Another one, and one that an exchange
  // has told where agent 0 listens, tries for 9 s (a name that cannot be resolved, or a port where nothing listens yet, may be
  // there soon).
  std::optional<double> meeting_seconds;
  // --rdzv_id; agents with another one are refused. Empty: none was given.
  std::string job_id;
  // Of the environment that decided, for a notice.
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> notices;  // what the user should know about the decision

  bool leads() const { return agent == 0; }
};

}  // namespace hftrain::launcher
