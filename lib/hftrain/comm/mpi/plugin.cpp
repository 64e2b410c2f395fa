// The one symbol that comm/mpi_plugin.h looks up.
#include <torch/version.h>

#include "hftrain/comm/mpi/mpi_process.h"

extern "C" __attribute__((visibility("default"))) const hftrain::comm::MpiPlugin& hftrain_mpi_plugin() {
  static constexpr hftrain::comm::MpiPlugin kPlugin{
      .torch_version = TORCH_VERSION,
      .start_process = hftrain::comm::start_mpi_process,
  };
  return kPlugin;
}
