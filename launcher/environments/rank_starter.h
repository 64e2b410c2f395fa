// Who started this process as one of several: mpirun's daemon, slurmstepd, torchrun.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

namespace hftrain::launcher {

// The nearest from `parent` upwards whose environment has not all `variables` that make this process a rank
// (Membership::variables): scripts between it and this process have them, too. `root`: what /proc is below.
pid_t starter_of_rank(const std::vector<std::pair<std::string, std::string>>& variables, pid_t parent,
                      const std::string& root = "/");

}  // namespace hftrain::launcher
