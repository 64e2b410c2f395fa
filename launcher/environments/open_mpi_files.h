// Files that Open MPI makes for a job, of which some stay when its own cleaning is cut short: the shared
// memory of a rank that was killed, and the session folder of an mpirun (or of its daemon on this machine)
// that was.
#pragma once

#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::launcher {

// For the front program of a rank, after the end of its worker. Does nothing outside of Open MPI. What cannot
// be removed stays. `shared_memory` is for tests.
void remove_shared_memory_of_rank(const Environment& environment,
                                  const std::string& shared_memory = "/dev/shm");
// When mpirun, or its daemon on this machine, is gone.
void remove_session_folder(const Environment& environment);

}  // namespace hftrain::launcher
