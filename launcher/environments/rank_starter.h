// Who started this process as one of several: mpirun's daemon, slurmstepd, torchrun.
#pragma once

#include <sys/types.h>

#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::launcher {

// The nearest from `parent` upwards whose environment does not say the same rank: scripts between it and this process
// have it, too. `root`: what /proc is below.
pid_t starter_of_rank(const Environment& environment, pid_t parent, const std::string& root = "/");

}  // namespace hftrain::launcher
