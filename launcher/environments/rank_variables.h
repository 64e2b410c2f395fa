// What the launchers of others say in the environment about a process that they started.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/base/environment.h"
#include "launcher/environments/membership.h"

namespace hftrain::launcher {

// One process of a job that mpirun, srun, torchrun or the like started.
struct StartedProcess {
  std::string by;  // "mpirun", "srun", "torchrun", "the environment"
  int rank = 0;
  int size = 1;
  int local_rank = 0;          // -1: not told; found when the processes meet
  int local_size = 1;          // 0: not told; found when the processes meet
  std::optional<int> nodes;    // where the launcher tells
  bool always_a_rank = false;  // torchrun means ranks, also when there is one per machine
  Meeting meeting = Meeting::kNone;
  std::string host;  // of kFixedAddress and kAgentStore; empty: nobody said
  int port = 0;
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> missing;  // variables of a set that clearly means a rank, and is not whole
  std::vector<std::string> notices;

  bool one_per_node() const { return local_size == 1 && (!nodes || size <= *nodes); }
};

// The first complete set counts, in this order: RANK and its companions; PMI_*; OMPI_COMM_WORLD_*;
// MV2_COMM_WORLD_*; SLURM_* of a step (PMIX_RANK where SLURM_PROCID is missing). When no complete set names
// several processes, RANK of a WORLD_SIZE above 1 with any of its companions counts too, as torch's env://
// has it (PyTorchJob, loops of ssh), and StartedProcess::missing has the rest. Any other set of which only a
// part is there is left over from something else; `notices` says what was seen and what is missing.
// `local_rank` is that of old launchers' --local_rank, -1 for none. Throws an Error (kUsage) when a number of
// a set that counts is none, or out of its range.
std::optional<StartedProcess> read_rank_variables(const Environment& environment, int local_rank,
                                                  std::vector<std::string>& notices);

}  // namespace hftrain::launcher
