// Loading of the MPI plug-in. The rest of the program links no MPI library and runs where there is none.
//
//   const auto mpi = load_mpi_plugin(path).start_process({});
//   table["mpi"] = [&](const BackendRequest& request) { return mpi->connect(request); };
//   …                                  // all groups are gone
//   mpi->finish();
#pragma once

#include <memory>
#include <string>

#include "hftrain/comm/backend_table.h"

namespace hftrain::comm {

struct MpiOptions {
  // Without: asks MPI for no more than one thread that may call it (MPI_THREAD_FUNNELED), and all groups take
  // turns on that thread. With: every group has its own, if the library grants it (MPI_THREAD_MULTIPLE).
  bool thread_per_group = true;
};

// MPI in this process, which mpirun has started as one rank. MPI can be started and finished once in the life
// of a process, so there is one of these at most.
class MpiProcess {
 public:
  // Without finish(): for the end of a run that failed. Waits for nobody.
  virtual ~MpiProcess() = default;

  // Starts MPI when this is the first group. kEnvironment when MPI was not started by mpirun or counts the
  // ranks otherwise than `request`; kWorkerLost naming the ranks that do not come within the deadline.
  // request.members are ranks of the MPI world.
  virtual c10::intrusive_ptr<c10d::Backend> connect(const BackendRequest& request) = 0;
  // What the library says of itself and which thread level it granted; empty before the first group.
  virtual std::string description() const = 0;
  // The orderly end, after all groups are gone and on all ranks: MPI_Finalize. Ranks wait for each other
  // here; false when they did not come within `patience`.
  virtual bool finish(std::chrono::milliseconds patience) = 0;
};

// What libhftrain_mpi.so offers, by its one exported symbol. Both sides are built together; `torch_version`
// guards against a plug-in of another build.
struct MpiPlugin {
  const char* torch_version;
  std::unique_ptr<MpiProcess> (*start_process)(const MpiOptions& options);
};
using MpiPluginFunction = const MpiPlugin& (*)();
inline constexpr const char* kMpiPluginSymbol = "hftrain_mpi_plugin";

// Loads the plug-in at `path` and keeps it for the life of the process. kEnvironment, with the loader's
// reason, when there is no plug-in, no Open MPI, or a plug-in of another build.
const MpiPlugin& load_mpi_plugin(const std::string& path);

}  // namespace hftrain::comm
