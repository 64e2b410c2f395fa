#include "launcher/ssh/machine_start.h"

#include <algorithm>
#include <array>
#include <utility>

#include "hftrain/arguments/import/environment.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/communication_variables.h"

namespace hftrain::launcher {
namespace {

// Beside those of communication and those that count for flags.
constexpr std::array kPassedPrefixes = {"OMP_",
                                        "MKL_",
                                        "ACCELERATE_",
                                        "FSDP_",
                                        "PARALLELISM_CONFIG_",
                                        "HF_",
                                        "HFTRAIN_",
                                        "TORCH_",
                                        "PYTORCH_",
                                        "WANDB_",
                                        "MLFLOW_",
                                        "TRACKIO_",
                                        "PYTHON",
                                        "CUDA_DEVICE_ORDER"};
// Of this machine alone.
constexpr std::array kNotPassed = {"HFTRAIN_SSH", "HFTRAIN_HOSTED", "TORCHELASTIC_RUN_ID"};

template <size_t N>
bool contains(const std::array<const char*, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
}

bool on_command_line(const arguments::Origins& origins, const char* flag) {
  return origins.of(flag).starts_with('-');
}

void check_flags(const std::vector<Host>& hosts, const StartRequest& request) {
  const int machines = arguments::machines_of(request.launch.nnodes).value_or(1);
  const int found = static_cast<int>(hosts.size());
  if (request.origins.is_given("nnodes") && machines != found)
    throw Error(ExitCode::kUsage, "nnodes and the host file say two different things")
        .where(request.origins.describe("nnodes") + ", " + request.origins.describe("hostfile"))
        .why("nnodes is " + std::to_string(machines) + ", and the host file leaves " + std::to_string(found))
        .hint("leave nnodes out, or --num_nodes to use the first machines of the file");
  if (on_command_line(request.origins, "node_rank"))
    throw Error(ExitCode::kUsage, "node_rank and hostfile exclude each other")
        .where(request.origins.describe("node_rank") + ", " + request.origins.describe("hostfile"))
        .why("one start here starts every machine of the host file and numbers them")
        .hint("leave node_rank out, or --no_ssh to start every machine by hand");
  const bool loopback = std::any_of(hosts.begin(), hosts.end(), [](const Host& host) {
    return host.name == "localhost" || host.name.starts_with("127.");
  });
  if (found > 1 && loopback && !request.origins.is_given("master_addr"))
    throw Error(ExitCode::kUsage, "localhost is another machine on every machine")
        .where(request.origins.describe("hostfile"))
        .why("the machines of a host file have to reach each other by its names")
        .hint("the name of this machine instead, or --master_addr with its address");
}

std::string counted(const std::string& number, const std::string& word) {
  return number + ' ' + word + (number == "1" ? "" : "s");
}

// Every slot that a filter chose has a rank. What a file says of all machines together is no contradiction.
void check_chosen_slots(const Host& host, const arguments::LaunchArguments& launch,
                        const arguments::Origins& origins) {
  const std::optional<std::string>& asked = launch.nproc_per_node;
  const std::string slots = std::to_string(host.slots.size());
  if (!asked || !on_command_line(origins, "nproc_per_node") || !is_number(*asked) || *asked == slots) return;
  throw Error(ExitCode::kUsage, "nproc_per_node and the slots of " + host.name + " say two different things")
      .where(origins.describe("nproc_per_node") + ", " + origins.describe("hostfile"))
      .why(counted(*asked, "rank") + ", " + counted(slots, "slot") + " chosen by --include or --exclude")
      .hint("leave nproc_per_node out: every chosen slot has a rank");
}

std::string rank_count_of(const Host& host, const StartRequest& request) {
  const std::string slots = std::to_string(host.slots.size());
  const std::optional<std::string>& asked = request.launch.nproc_per_node;
  if (!asked) return slots;
  if (host.chosen) {
    check_chosen_slots(host, request.launch, request.origins);
    return slots;
  }
  if (!is_number(*asked)) return *asked;
  if (std::stoul(*asked) > host.slots.size())
    throw Error(ExitCode::kUsage, "there are more ranks than slots on " + host.name)
        .where(request.origins.describe("nproc_per_node") + ", " + request.origins.describe("hostfile"))
        .why(*asked + " ranks, " + slots + " slots")
        .hint("at most " + slots);
  return *asked;
}

// CUDA_VISIBLE_DEVICES for the slots that a filter chose.
std::string mask_of(const Host& host) {
  std::vector<std::string> slots;
  for (const int slot : host.slots) slots.push_back(std::to_string(slot));
  return join(slots, ",");
}

}  // namespace

std::string order_line(const MachineStart& machine, const std::string& directory) {
  return dump_json(Json{{"schema", "hftrain-hosted-1"},
                        {"directory", directory},
                        {"arguments", machine.arguments},
                        {"environment", machine.environment}},
                   -1) +
         '\n';
}

Order parse_order(const std::string& line) {
  try {
    const Json json = try_parse_json(line).value_or(Json::object());
    if (json.at("schema") != "hftrain-hosted-1")
      throw Error(ExitCode::kUsage, "this order is of another release")
          .where("standard input")
          .why("the machine that gave it has another hftrain")
          .hint("install the same hftrain on all machines of the host file");
    return {json.at("directory").get<std::string>(), json.at("arguments").get<std::vector<std::string>>(),
            json.at("environment").get<std::map<std::string, std::string>>()};
  } catch (const Json::exception&) {
    throw Error(ExitCode::kUsage, "hosted waits for an order on its standard input")
        .where("standard input")
        .why("what came is none")
        .hint("it is called by `hftrain --hostfile` on another machine, not by hand");
  }
}

bool starts_hosts(const arguments::LaunchArguments& launch, const arguments::Origins& origins,
                  const Environment& environment) {
  return origins.is_given("hostfile") && launch.launcher == "pdsh" && !launch.no_ssh &&
         !environment.get("HFTRAIN_HOSTED");
}

bool counts_hosts(const arguments::LaunchArguments& launch, const arguments::Origins& origins) {
  return origins.is_given("hostfile") && launch.no_ssh && !origins.is_given("deepspeed_multinode_launcher");
}

std::optional<std::string> take_from_hosts(const std::vector<Host>& hosts, arguments::LaunchArguments& launch,
                                           arguments::Origins& origins) {
  const auto machines = static_cast<int64_t>(hosts.size());
  constexpr const char* kHosts = "hostfile";
  if (!origins.is_given("nnodes")) {
    launch.nnodes = std::to_string(machines);
    origins.set_filled_in("nnodes", kHosts);
  }
  if (!origins.is_given("master_addr") && machines > 1) {
    launch.master_addr = hosts.front().name;
    origins.set_filled_in("master_addr", kHosts);
  }
  if (launch.node_rank >= machines)
    throw Error(ExitCode::kUsage,
                "node_rank " + std::to_string(launch.node_rank) + " is not in the host file")
        .where(origins.describe("node_rank") + ", " + origins.describe("hostfile"))
        .why("it leaves " + std::to_string(machines) + (machines == 1 ? " machine" : " machines"))
        .hint("0 to " + std::to_string(machines - 1));
  const Host& here = hosts[static_cast<size_t>(launch.node_rank)];
  if (here.chosen) check_chosen_slots(here, launch, origins);
  if (!launch.nproc_per_node || here.chosen) {
    launch.nproc_per_node = std::to_string(here.slots.size());
    origins.set_filled_in("nproc_per_node", kHosts);
  }
  return here.chosen ? std::optional(mask_of(here)) : std::nullopt;
}

std::vector<MachineStart> machine_starts(const std::vector<Host>& hosts, const StartRequest& request) {
  check_flags(hosts, request);
  const std::string master =
      request.origins.is_given("master_addr") ? request.launch.master_addr : hosts.front().name;
  const bool own_port = request.origins.is_given("master_port") && request.launch.master_port > 0;
  const auto port = own_port ? request.launch.master_port : request.port;
  std::map<std::string, std::string> passed = variables_to_pass(request.environment);
  for (const auto& [name, value] : request.environment_file) passed[name] = value;
  passed["HFTRAIN_HOSTED"] = "1";

  std::vector<MachineStart> starts;
  for (const Host& host : hosts) {
    MachineStart start{host.name, request.arguments, passed};
    const std::vector<std::string> place = {"--nnodes",      std::to_string(hosts.size()),
                                            "--node_rank",   std::to_string(starts.size()),
                                            "--master_addr", master,
                                            "--master_port", std::to_string(port)};
    if (hosts.size() > 1) start.arguments.insert(start.arguments.end(), place.begin(), place.end());
    start.arguments.insert(start.arguments.end(), {"--nproc_per_node", rank_count_of(host, request)});
    if (host.chosen) start.environment["CUDA_VISIBLE_DEVICES"] = mask_of(host);
    starts.push_back(std::move(start));
  }
  return starts;
}

const std::string& ranks_of(const MachineStart& machine) {
  return machine.arguments.back();
}

std::map<std::string, std::string> variables_to_pass(const Environment& environment) {
  std::map<std::string, std::string> passed;
  for (const auto& variable : environment.variables()) {
    const std::string& name = variable.first;
    const bool wanted = plan::is_communication_variable(name) || arguments::counts_for_flags(name) ||
                        std::any_of(kPassedPrefixes.begin(), kPassedPrefixes.end(),
                                    [&name](const char* prefix) { return name.starts_with(prefix); });
    if (wanted && !contains(kNotPassed, name)) passed.insert(variable);
  }
  return passed;
}

std::map<std::string, std::string> parse_environment_file(const std::string& text, const std::string& path) {
  std::map<std::string, std::string> variables;
  size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string content = trim(line);
    if (content.empty() || content.front() == '#') continue;
    const size_t equals = content.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ExitCode::kUsage, "this line of the environment file is not NAME=VALUE")
          .where(path + ':' + std::to_string(number))
          .why("DS_ENV_FILE names the file")
          .hint("NCCL_SOCKET_IFNAME=eth0");
    variables[content.substr(0, equals)] = content.substr(equals + 1);
  }
  return variables;
}

std::vector<std::string> remote_shell(const arguments::LaunchArguments& launch,
                                      const Environment& environment, const std::string& host,
                                      const std::string& command) {
  std::vector<std::string> words = split_words(environment.get_or("HFTRAIN_SSH", ""));
  // Without a question: nobody is there to answer it.
  if (words.empty()) words = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-T"};
  if (launch.ssh_port) words.insert(words.end(), {"-p", std::to_string(*launch.ssh_port)});
  for (std::string& word : split_words(launch.launcher_args)) words.push_back(std::move(word));
  words.push_back(host);
  words.push_back(command);
  return words;
}

}  // namespace hftrain::launcher
