// How the CPUs of this machine lie: cores, last-level caches, sockets and NUMA nodes, from Linux's /sys.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace hftrain::machine {

// A CPU as the kernel numbers them; a core with hyper-threading has several.
struct Cpu {
  int number = 0;
  int core = 0;     // the lowest CPU of its physical core
  int complex = 0;  // the lowest CPU that shares its last-level cache
  int socket = 0;
  int node = 0;  // NUMA

  bool operator==(const Cpu&) const = default;
};

// The CPUs that a process may use (0: this one), in rising order; none where it is gone.
std::vector<int> allowed_cpus(pid_t process = 0);

// `cpus` with what is known of them below `root`; what is not known is 0, a core or complex its own number.
std::vector<Cpu> read_cpu_map(const std::vector<int>& cpus, const std::string& root = "/");

// The NUMA node of a GPU ("00000000:81:00.0"); nothing when the machine does not say.
std::optional<int> node_of_pci_device(const std::string& pci_bus_id, const std::string& root = "/");

}  // namespace hftrain::machine
