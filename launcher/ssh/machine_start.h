// What every machine of a host file is started with. Pure.
//
// The starter runs one front program per machine: on this machine as a child, on another one through the
// remote shell, where the command `hftrain hosted` gets all the rest as one line of JSON on its standard
// input. So nothing has to be quoted for a shell but the program's path, and no value appears in a list of
// processes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/arguments/arguments.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/environment.h"
#include "launcher/ssh/host_file.h"

namespace hftrain::launcher {

struct MachineStart {
  std::string host;
  std::vector<std::string> arguments;              // of `hftrain`
  std::map<std::string, std::string> environment;  // set on top of what the machine has

  bool operator==(const MachineStart&) const = default;
};

// The order that `hftrain hosted` reads. Further lines are "signal N".
std::string order_line(const MachineStart& machine, const std::string& directory);
struct Order {
  std::string directory;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};
// Throws an Error (kUsage) for a line that is no order.
Order parse_order(const std::string& line);

// Whether the host file starts the machines of this run: named, to be reached by ssh, and this program is not
// one that was started already.
bool starts_hosts(const arguments::LaunchArguments& launch, const arguments::Origins& origins,
                  const Environment& environment);

// Whether every machine is started by hand and the host file says how many there are: --no_ssh. (Under
// accelerate's launchers standard and nossh the file is not looked at.)
bool counts_hosts(const arguments::LaunchArguments& launch, const arguments::Origins& origins);

// Of counts_hosts(): the host file says how many machines and ranks there are, node_rank which one this is;
// what the user gave wins. Throws an Error (kUsage) when node_rank is none of them, or nproc_per_node contradicts the slots
// chosen here; `launch` says by then how many machines there are and where the first one is, for who tells the others. Returns
// CUDA_VISIBLE_DEVICES for the slots that a filter chose here; nothing where there is no choice.
std::optional<std::string> take_from_hosts(const std::vector<Host>& hosts, arguments::LaunchArguments& launch,
                                           arguments::Origins& origins);

struct StartRequest {
  std::vector<std::string> arguments;  // the command line of this program, after its name
  const arguments::LaunchArguments& launch;
  const arguments::Origins& origins;
  const Environment& environment;
  std::map<std::string, std::string> environment_file;  // of DS_ENV_FILE
  int port = 0;                                         // when the user gave none
};
// The command line of this program for every machine, with --nnodes, --node_rank, --master_addr and --master_port, of
// several machines, and --nproc_per_node behind it. Throws an Error (kUsage) when the user's flags contradict the
// host file.
std::vector<MachineStart> machine_starts(const std::vector<Host>& hosts, const StartRequest& request);
// The --nproc_per_node of one of them.
const std::string& ranks_of(const MachineStart& machine);

// Variables that go to every machine: those that count for flags, those of the libraries by which ranks talk and
// compute, of the Hub, of trackers and of hftrain (docs/launcher.md has the list).
std::map<std::string, std::string> variables_to_pass(const Environment& environment);

// KEY=VALUE lines; # comments. Throws an Error (kUsage) for another line.
std::map<std::string, std::string> parse_environment_file(const std::string& text, const std::string& path);

// The remote shell's argument vector: HFTRAIN_SSH, else ssh without questions; --ssh_port, --launcher_args,
// the host and the command.
std::vector<std::string> remote_shell(const arguments::LaunchArguments& launch,
                                      const Environment& environment, const std::string& host,
                                      const std::string& command);

}  // namespace hftrain::launcher
