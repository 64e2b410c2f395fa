// Which CPUs each rank of a machine is bound to: --numa_binding of torchrun, --enable_cpu_affinity of
// accelerate,
// --bind_cores_to_rank of deepspeed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hftrain/machine/cpu_map.h"

namespace hftrain::launcher {

enum class Binding {
  kNode,         // all CPUs of the NUMA node of the rank's GPU
  kSocket,       // all of the socket of that node
  kExclusive,    // cores of that node that no other rank has
  kCoreComplex,  // the CPUs of that node that share one last-level cache, in turn
  kOwnCores,     // an equal part of all cores, whatever the node
};

// CPUs per rank, in the order of `nodes`: of each local rank the NUMA node of its GPU, or nothing. Ranks
// without one are spread evenly over the nodes, neighbours together. Throws an Error: kUsage when there are fewer cores
// than ranks that want cores of their own, kEnvironment for an empty map; `flag` is what it names.
std::vector<std::vector<int>> bind_ranks(Binding binding, const std::vector<machine::Cpu>& map,
                                         const std::vector<std::optional<int>>& nodes,
                                         const std::string& flag);

}  // namespace hftrain::launcher
