// Where Linux keeps what is known of this process's control groups (cgroups(7)).
#pragma once

#include <string>
#include <vector>

namespace hftrain::machine {

// The folder of this process's group and its parents up to the mount point, innermost first. In a container
// the path of /proc/self/cgroup may be the host's and not exist below the mount point; its parents then still
// serve.
struct Cgroup {
  std::vector<std::string> unified;      // version 2
  std::vector<std::string> cpu, memory;  // version 1
};

// `root` stands before proc/ and sys/: "/" except in tests.
Cgroup find_cgroup(const std::string& root = "/");

}  // namespace hftrain::machine
