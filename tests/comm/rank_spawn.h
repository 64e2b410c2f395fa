// How a test starts its own program again: as one rank, or as what mpirun starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "comm/rank_processes.h"
#include "hftrain/base/environment.h"
#include "hftrain/base/file.h"

namespace hftrain::testing {

inline constexpr const char* kRankTest = "one rank of a process test";
inline constexpr int kListenFd = 3;  // in the child of rank 0

struct ListeningSocket {
  FileDescriptor fd;
  uint16_t port = 0;
};
ListeningSocket listen_on_loopback();

// The child reads `input`, writes to the file `output` and, with a descriptor `listen_fd`, finds it as
// kListenFd.
pid_t spawn(const std::string& program, const std::vector<std::string>& arguments,
            const Environment& environment, int input, const std::string& output, int listen_fd = -1);
// Its end; the output is that of the file.
RankOutcome wait_for(pid_t pid, const std::string& output);

// The tests of this process are only asked which bodies they would run.
bool only_names_bodies();

// mpi_ranks.cpp: run_ranks for the backends whose names begin with "mpi".
std::vector<RankOutcome> run_ranks_under_mpirun(const std::string& body, int world_size,
                                                const std::vector<int>& hanging, const std::string& backend);

}  // namespace hftrain::testing
