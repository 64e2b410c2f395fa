// The machines of a job as its front programs (agents) report them: what resolve() needs beside the
// arguments when the ranks do not all start from here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/plan/topology.h"

namespace hftrain::plan {

// A rank that mpirun, srun or torchrun has already assigned to an agent.
struct AssignedRank {
  int rank = 0;
  int local_rank = 0;  // -1: not told; its position among the ranks of its machine
  int world_size = 1;
  int local_world_size = 1;  // 0: not told; resolve() counts

  bool operator==(const AssignedRank&) const = default;
};

struct AgentFacts {
  int agent = 0;
  std::string host;     // its name, for people
  std::string machine;  // equal on agents that have the same memory, cores and loopback address
  std::string
      processes;  // equal on those of a machine whose ranks find each other's open files, and so share memory
  // Its own output folder where every node has one (save_on_each_node): agents of a machine with other ones are nodes, too.
  std::string output_folder;
  Topology topology;
  std::vector<int> cores;                     // CPU numbers it may use; empty: unknown
  std::optional<std::string> nproc_per_node;  // as its own arguments say
  std::optional<AssignedRank> assigned;       // unset: it spawns the ranks of its machine
  bool joins_mpi = false;                     // its worker can join the MPI job that started it
};

// The agents of a dry run, of which only this one is there: all others are taken to be like it. Assigned ranks
// fill one machine after the other. `cores_of_starter`: what the process that started this one (mpirun's, srun's) may use;
// where that is more, this one is bound, and the others of its machine are taken to have cores of their own.
std::vector<AgentFacts> like_this_one(const AgentFacts& here, int agents,
                                      const std::vector<int>& cores_of_starter = {});

// For Json's conversions; the second throws Json::exception for what is no such value.
void to_json(Json& json, const AgentFacts& facts);
void from_json(const Json& json, AgentFacts& facts);

}  // namespace hftrain::plan
