// The start and the end of MPI in this process (comm/mpi_plugin.h).
#pragma once

#include <memory>

#include "hftrain/comm/mpi_plugin.h"

namespace hftrain::comm {

std::unique_ptr<MpiProcess> start_mpi_process(const MpiOptions& options);

}  // namespace hftrain::comm
