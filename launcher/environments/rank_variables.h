// What the launchers of others say in the environment about a process that they started.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/environments/job_place.h"

namespace hftrain::launcher {

// One process of a job that mpirun, srun, torchrun or the like started.
struct StartedProcess {
  std::string by;  // "mpirun", "srun", "torchrun", "the environment"
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::optional<int> nodes;    // where the launcher tells
  bool always_a_rank = false;  // torchrun means ranks, also when there is one per machine
  Meeting meeting = Meeting::kNone;
  std::string host;  // of kFixedAddress and kAgentStore; empty: nobody said
  int port = 0;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> notices;

  bool one_per_node() const { return local_size == 1 && (!nodes || size <= *nodes); }
};

// The first complete set counts, in this order: RANK and its companions; PMI_*; OMPI_COMM_WORLD_*;
// MV2_COMM_WORLD_*; SLURM_* of a step (PMIX_RANK where SLURM_PROCID is missing). A set of which only a part
// is there is left over from something else; when nothing else counts, `notices` says what was seen and what
// is missing. `local_rank` is that of old launchers' --local_rank, -1 for none. Throws an Error (kUsage) when
// a number of a complete set is none, or out of its range.
std::optional<StartedProcess> read_rank_variables(const Environment& environment, int local_rank,
                                                  std::vector<std::string>& notices);

}  // namespace hftrain::launcher
