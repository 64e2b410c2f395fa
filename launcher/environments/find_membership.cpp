#include "launcher/environments/find_membership.h"

#include <optional>
#include <utility>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/raw_argument.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "launcher/control/addresses.h"
#include "launcher/environments/rank_variables.h"

namespace hftrain::launcher {
namespace {

std::string list(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  return join(texts, ", ");
}

std::string counted(int count, const std::string& thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

// torchrun's form of IPv6: [::1].
std::string without_brackets(const std::string& host) {
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.find(':') != std::string::npos;
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

class PlaceFinder {
 public:
  PlaceFinder(const arguments::LaunchArguments& launch, int visible_gpus, const arguments::Origins& origins)
      : launch_(launch), visible_gpus_(visible_gpus), origins_(origins) {}

  Membership find(const Environment& environment) {
    membership_.meeting_seconds = meeting_seconds();
    membership_.local_address = launch_.local_addr.value_or("");
    if (launch_.rdzv_id != "none") membership_.job_id = launch_.rdzv_id;
    const int machines = arguments::machines_of(launch_.nnodes).value_or(1);
    std::vector<std::string> leftovers;
    const std::optional<StartedProcess> started = started_process(environment, machines, leftovers);
    if (started && means_ranks(*started, machines)) {
      by_launcher(*started, machines);
    } else if (machines > 1) {
      by_flags(machines);
    } else {
      if (started) membership_.started_by = started->by;
      membership_.notices = std::move(leftovers);
    }
    if (!membership_.assigned && launch_.local_rank >= 0)
      membership_.notices.push_back("--local_rank " + std::to_string(launch_.local_rank) +
                                    " is not used: this program starts its own ranks");
    tell_what_no_other_machine_needs();
    return std::move(membership_);
  }

 private:
  void tell_what_no_other_machine_needs() {
    // A host file counts its machines elsewhere.
    if (membership_.agents != 1 || origins_.is_given("hostfile")) return;
    const auto tell = [&](const std::string& flag, const std::string& value) {
      membership_.notices.push_back("--" + flag + ' ' + value + " is not used: no other machine takes part");
    };
    if (launch_.local_addr) tell("local_addr", *launch_.local_addr);
    if (origins_.is_given("master_addr") && !names_loopback(without_brackets(launch_.master_addr))) {
      const bool by_endpoint = origins_.of("master_addr") == origins_.of("rdzv_endpoint");
      tell(by_endpoint ? "rdzv_endpoint" : "master_addr", launch_.master_addr);
    }
    if (launch_.rdzv_id != "none") tell("rdzv_id", launch_.rdzv_id);
    // Its other keys are told of wherever they stand.
    if (arguments::secret_file(launch_.rdzv_conf) || meeting_seconds()) tell("rdzv_conf", launch_.rdzv_conf);
  }

  std::optional<StartedProcess> started_process(const Environment& environment, int machines,
                                                std::vector<std::string>& leftovers) const {
    if (launch_.standalone) return std::nullopt;
    auto started = read_rank_variables(environment, static_cast<int>(launch_.local_rank), leftovers);
    // Flags that name machines do not care about half a set (Kubeflow sets both).
    if (started && !started->missing.empty() && machines > 1) return std::nullopt;
    return started;
  }

  static bool means_ranks(const StartedProcess& started, int machines) {
    return started.size > 1 || (started.always_a_rank && machines == 1);
  }

  bool given(const char* flag, bool differs) const { return differs || origins_.is_given(flag); }
  std::string origin(const char* flag) const {
    return origins_.is_given(flag) ? origins_.describe(flag) : "--" + std::string(flag);
  }

  std::optional<double> meeting_seconds() const {
    const auto options = arguments::rendezvous_options(launch_.rdzv_conf);
    for (const char* name : {"join_timeout", "timeout"}) {
      const auto found = options.find(name);
      if (found != options.end()) return found->second;
    }
    return std::nullopt;
  }

  void by_flags(int machines) {
    membership_.started_by = "--nnodes";
    membership_.by_scheduler = origins_.of("master_addr").starts_with(arguments::kEnvironmentOrigin);
    membership_.agents = machines;
    membership_.agent = static_cast<int>(launch_.node_rank);
    check_place(machines);
    fixed_address(launch_.master_addr, static_cast<int>(launch_.master_port));
  }

  void check_place(int machines) const {
    const bool address = given("master_addr", launch_.master_addr != "127.0.0.1");
    const bool number = given("node_rank", launch_.node_rank != 0);
    if (address && number) return;
    const std::string addresses = "--master_addr HOST --master_port PORT, the same on every machine";
    const std::string numbers = "--node_rank 0 on the machine of master_addr, 1 to " +
                                std::to_string(machines - 1) + " on the others";
    const std::string why = "nnodes is " + std::to_string(machines) + ", and ";
    if (address)
      throw Error(ExitCode::kUsage, "this machine does not know its number")
          .where(origin("nnodes"))
          .why(why + "node_rank was not given")
          .hint(numbers);
    throw Error(ExitCode::kUsage, "several machines need to know machine 0")
        .where(origin("nnodes"))
        .why(why + (number ? "master_addr was not given" : "neither master_addr nor node_rank was given"))
        .hint(number ? addresses : addresses + "; " + numbers);
  }

  void fixed_address(const std::string& host, int port) {
    membership_.meeting = Meeting::kFixedAddress;
    membership_.master_host = host;
    membership_.master_port = port;
  }

  void by_launcher(const StartedProcess& started, int machines) {
    membership_.started_by = started.by;
    membership_.by_scheduler = true;
    membership_.agents = started.size;
    membership_.agent = started.rank;
    membership_.variables = started.variables;
    membership_.notices.insert(membership_.notices.end(), started.notices.begin(), started.notices.end());
    check_agreement(started, machines);
    if (!spawns(started))
      membership_.assigned = AssignedRank{started.rank, started.local_rank, started.size, started.local_size};
    if (started.size > 1) choose_meeting(started);
  }

  std::string seen(const StartedProcess& started) const { return "environment " + list(started.variables); }

  static std::optional<int> nodes_of(const StartedProcess& started) {
    if (started.nodes && started.size >= *started.nodes) return started.nodes;
    if (started.local_size == 0 || started.size % started.local_size != 0) return std::nullopt;
    return started.size / started.local_size;
  }

  void check_agreement(const StartedProcess& started, int machines) {
    const std::optional<int> nodes = nodes_of(started);
    if (given("nnodes", machines != 1) && nodes && *nodes != machines)
      throw Error(ExitCode::kUsage, "nnodes and " + started.by + " say two different things")
          .where(origin("nnodes") + "; " + seen(started))
          .why("nnodes is " + std::to_string(machines) + ", and " + started.by + " uses " +
               counted(*nodes, "machine") + " (" + std::to_string(started.size) + " processes, " +
               std::to_string(started.local_size) + " on this one)")
          .hint("leave nnodes out under " + started.by + ", or --standalone to ignore the environment");
    if (given("node_rank", launch_.node_rank != 0) && started.one_per_node() &&
        launch_.node_rank != started.rank)
      throw Error(ExitCode::kUsage, "node_rank and " + started.by + " say two different things")
          .where(origin("node_rank") + "; " + seen(started))
          .why("node_rank is " + std::to_string(launch_.node_rank) + ", and this is process " +
               std::to_string(started.rank) + " of one per machine")
          .hint("leave node_rank out under " + started.by + ", or --standalone to ignore the environment");
    const std::optional<int> asked = asked_ranks();
    if (started.local_size > 1 && asked && *asked != started.local_size)
      throw Error(ExitCode::kUsage, "nproc_per_node and " + started.by + " say two different things")
          .where(origin("nproc_per_node") + "; " + seen(started))
          .why("nproc_per_node is " + std::to_string(*asked) + ", and " + started.by + " has started " +
               std::to_string(started.local_size) + " processes on this machine")
          .hint(
              "one process per machine with nproc_per_node, or one process per rank without it; --standalone "
              "ignores the environment");
  }

  // A number in nproc_per_node; nothing for the words, which leave it to the machine.
  std::optional<int> asked_ranks() const {
    const std::string text = launch_.nproc_per_node.value_or("");
    return text.size() > 5 ? std::nullopt : whole_number(text);
  }

  bool spawns(const StartedProcess& started) const {
    // A process that was told nothing of its machine is one per machine when it is to have several ranks.
    const bool one_per_node = started.one_per_node() || (started.local_size == 0 && started.local_rank < 0);
    if (!one_per_node) return false;
    if (launch_.nproc_per_node) return asked_ranks() != 1;
    const int64_t ranks = visible_gpus_ > 0 ? visible_gpus_ : launch_.cpu_ranks.value_or(1);
    return ranks > 1 && !started.always_a_rank;
  }

  void choose_meeting(const StartedProcess& started) {
    const bool host = given("master_addr", launch_.master_addr != "127.0.0.1");
    const bool port = given("master_port", launch_.master_port != 29500);
    if (host && port) {
      fixed_address(launch_.master_addr, static_cast<int>(launch_.master_port));
      return;
    }
    if (host || port)
      membership_.notices.push_back(origin(host ? "master_addr" : "master_port") + " is not used under " +
                                    started.by + " without " + (host ? "master_port" : "master_addr"));
    if (!started.missing.empty() && (started.host.empty() || started.port == 0))
      throw Error(ExitCode::kUsage, "this process is one of several and does not know where the first one is")
          .where(seen(started))
          .why(join(started.missing, ", ") + (started.missing.size() == 1 ? " is" : " are") + " missing")
          .hint(
              "MASTER_ADDR and MASTER_PORT (or --master_addr and --master_port), the same for all; "
              "--standalone ignores the environment and trains on this machine alone");
    membership_.meeting = started.meeting;
    membership_.master_host = started.host;
    membership_.master_port = started.port;
    if (membership_.meeting == Meeting::kFixedAddress && membership_.master_host.empty())
      throw Error(ExitCode::kUsage, "the processes of this mpirun do not know where the first one is")
          .where(seen(started))
          .why("it is not Open MPI's, whose processes can tell each other")
          .hint(
              "--master_addr HOST --master_port PORT, or MASTER_ADDR and MASTER_PORT in the environment; "
              "--standalone ignores variables that another mpirun has left");
  }

  const arguments::LaunchArguments& launch_;
  int visible_gpus_;
  const arguments::Origins& origins_;
  Membership membership_;
};

}  // namespace

Membership find_membership(const arguments::LaunchArguments& launch, const Environment& environment,
                           int visible_gpus, const arguments::Origins& origins) {
  Membership membership = PlaceFinder(launch, visible_gpus, origins).find(environment);
  membership.master_host = without_brackets(membership.master_host);
  return membership;
}

bool speaks_first(const Environment& environment) {
  try {
    std::vector<std::string> unused;
    const std::optional<StartedProcess> started = read_rank_variables(environment, -1, unused);
    return !started || started->local_rank <= 0;
  } catch (const Error&) {
    return true;
  }
}

std::string describe(const Membership& membership) {
  if (membership.agents == 1 && !membership.assigned) return "";
  const std::string number = std::to_string(membership.agent) + " of " + std::to_string(membership.agents);
  std::string text = membership.started_by == "--nnodes"
                         ? "machine " + number
                         : "started by " + membership.started_by +
                               (membership.assigned ? " as rank " : " as machine ") + number;
  if (!membership.variables.empty()) text += " (" + list(membership.variables) + ")";
  if (membership.agents > 1 && !membership.local_address.empty())
    text += ", at " + membership.local_address + " (--local_addr)";
  return text;
}

}  // namespace hftrain::launcher
