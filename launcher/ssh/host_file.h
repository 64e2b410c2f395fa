// Host files of the deepspeed launcher, and its filters. Pure.
//
//   worker-0 slots=4     # a machine and how many ranks it takes
//   worker-1 slots=4
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hftrain/arguments/arguments.h"

namespace hftrain::launcher {

struct Host {
  std::string name;
  std::vector<int> slots;  // that are used, ascending: GPUs, or just as many CPU ranks
  bool chosen = false;     // a filter named some of its slots: they are the GPUs to use

  bool operator==(const Host&) const = default;
};

// Throws an Error (kUsage) that names every line that is not "name slots=N", every name that comes twice or
// begins with '-', and a file without a machine. `path` is for messages.
std::vector<Host> parse_host_file(std::string_view text, const std::string& path);

// What include, exclude ("host:0,2@host2": hosts separated by @, slots by commas) and num_nodes leave over,
// in the order of the file. Throws an Error (kUsage) when a filter names a host or slot that is not there, or
// when nothing is left.
std::vector<Host> choose_hosts(std::vector<Host> hosts, const arguments::LaunchArguments& launch,
                               const std::string& path);

// Reads the file of --hostfile and applies the filters; a file that cannot be read is an Error (kUsage).
std::vector<Host> read_hosts(const arguments::LaunchArguments& launch);

}  // namespace hftrain::launcher
