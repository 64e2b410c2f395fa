// Where this front program stands in its job: alone, or one of several that were started on their own
// machines (--nnodes and --node_rank, a host file, srun, mpirun with one process per node) or once per rank
// (mpirun, srun or torchrun with one process per rank). find_place.h works it out.
//
//   agent   one front program of the job. It starts and watches the ranks that are its own; agent 0 leads: it
//           resolves the plan, prepares the run folder, judges the job and writes its summary.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hftrain::launcher {

// A rank that the environment has already given to this agent; without one the agent spawns the ranks of its
// machine.
struct GivenRank {
  int rank = 0;
  int local_rank = 0;  // -1: not told; its position among the ranks that meet on its machine
  int world_size = 1;
  int local_world_size = 1;  // 0: not told; as many as meet on its machine
};

// How the agents learn where agent 0 listens.
enum class Meeting {
  kNone,          // one agent: nobody to meet
  kFixedAddress,  // master_host:master_port is known to all; agent 0 binds it
  kPmix,          // agent 0 binds a free port and publishes it through PMIx (mpirun)
  kAgentStore,    // the same through the store that torchrun's agent keeps at master_host:master_port
};

struct JobPlace {
  std::string started_by = "hftrain";  // for people: "mpirun", "srun", "torchrun", "--nnodes", "host file"
  int agents = 1;
  int agent = 0;
  std::optional<GivenRank> given;
  Meeting meeting = Meeting::kNone;
  std::string master_host;  // of kFixedAddress and kAgentStore
  int master_port = 0;
  std::string local_address;  // --local_addr: of this machine, a name or a number; empty: not given
  // Both of --rdzv_conf and its like. How long agents wait for each other; unset: a follower tries to reach
  // agent 0 for 9 s (a name that cannot be resolved, or a port where nothing listens yet, may be there
  // soon), and agent 0 waits 300 s for the others, at most --ddp_timeout.
  std::optional<double> meeting_seconds;
  // --rdzv_id; agents with another one are refused. Empty: none was given.
  std::string job_id;
  std::vector<std::pair<std::string, std::string>>
      variables;                     // of the environment that decided, for a notice
  std::vector<std::string> notices;  // what the user should know about the decision

  bool leads() const { return agent == 0; }
};

}  // namespace hftrain::launcher
