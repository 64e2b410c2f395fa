// main() of a process that the launcher starts as a rank.
#pragma once

#include "run_rank.h"

namespace hftrain::worker {

// Its exit code. A failure is said on the standard error, too.
int rank_main(int argc, char** argv, const RankProgram& program);

}  // namespace hftrain::worker
