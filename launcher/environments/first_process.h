// The first of the processes that one launcher has started on this machine, as the others see it.
#pragma once

#include <chrono>
#include <string>

#include "hftrain/base/environment.h"

namespace hftrain::launcher {

// Whether it is there and does not say what this process could say: it was given other words, or has not ended `patience` later. What
// every process of a job is refused for (a mistyped flag) ends it at once, so one that stays has a command line that it can read.
// Looks at the processes of this program alone; one that nothing ties to this job, or that no other process may look at, is as
// good as gone. Waits for at most twice `patience`.
bool first_process_says_otherwise(const Environment& environment, std::chrono::milliseconds patience);

// "rank 1 of 2, started by mpirun"; empty for a process that no launcher has started.
std::string place_in_job(const Environment& environment);

}  // namespace hftrain::launcher
