// From flags and environment to the membership of this front program in its job. Pure: reads nothing but its
// arguments.
//
//   1. --standalone: alone, whatever the environment says.
//   2. A launcher that has started this process once per rank or once per machine (rank_variables.h).
//      One process per rank: the rank is assigned. One process per machine (of mpirun or srun): the agent spawns
//      the machine's ranks when --nproc_per_node, several GPUs or, without any, --cpu_ranks ask for more than
//      one, else it is assigned one.
//   3. --nnodes above 1 with --node_rank and --master_addr (and --master_port, unless it is 29500).
//   4. Alone.
// Flags and a launcher must agree. --master_addr together with --master_port is where the agents meet under
// any launcher. What is left over in the environment is named in Membership::notices and not used.
#pragma once

#include <string>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/environment.h"
#include "launcher/environments/membership.h"

namespace hftrain::launcher {

// `visible_gpus`: of this machine, 0 when ranks use the CPU. `origins` is for messages and tells what the
// user gave. Throws an Error (kUsage) when flags contradict each other or the environment.
Membership find_membership(const arguments::LaunchArguments& launch, const Environment& environment,
                           int visible_gpus = 0, const arguments::Origins& origins = {});

// "started by mpirun as rank 2 of 4 (OMPI_COMM_WORLD_RANK=2, …)"; empty when it is alone.
std::string describe(const Membership& membership);

// Whether this program is the first of those that a launcher has started on this machine, or was not started
// by one. What all of them see before they meet (a mistyped flag) is said by it alone.
bool speaks_first(const Environment& environment);

}  // namespace hftrain::launcher
