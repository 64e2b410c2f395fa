#include "launcher/control/preflight.h"

#include <algorithm>
#include <array>
#include <set>

#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

// They say where an agent is, how it reaches agent 0, how many ranks it starts, or how its terminal looks.
constexpr std::array kOwnArguments = {"node_rank",
                                      "machine_rank",
                                      "local_rank",
                                      "local_addr",
                                      "master_addr",
                                      "master_port",
                                      "main_process_ip",
                                      "main_process_port",
                                      "rdzv_endpoint",
                                      "rdzv_conf",
                                      "nproc_per_node",
                                      "num_processes",
                                      "log_dir",
                                      "log_level",
                                      "log_level_replica",
                                      "redirects",
                                      "local_ranks_filter",
                                      "progress",
                                      "color",
                                      "disable_tqdm",
                                      "tee",
                                      "log_ranks",
                                      "quiet",
                                      "duplicate_stdout_filters",
                                      "duplicate_stderr_filters",
                                      "signals_to_handle"};

std::string value_in(const Introduction& agent, const std::string& key) {
  const auto found = agent.arguments.find(key);
  return found == agent.arguments.end() ? "not given" : found->second;
}

std::string gpus_of(const plan::Topology& topology) {
  const std::vector<plan::VisibleDevice>& devices = topology.visible.devices;
  if (devices.empty()) return "no GPU";
  return std::to_string(devices.size()) + (devices.size() == 1 ? " GPU (" : " GPUs (") +
         devices.front().device.name + ")";
}

// What is said of the first file in which `there` is not what `here` is; empty: it is the same.
std::string first_difference(const WeightsSeen& here, const WeightsSeen& there, const std::string& leader) {
  std::set<std::string> names;
  for (const auto& [name, mark] : here.files) names.insert(name);
  for (const auto& [name, mark] : there.files) names.insert(name);
  for (const std::string& name : names) {
    const auto own = here.files.find(name), other = there.files.find(name);
    if (other == there.files.end()) return name + " is on " + leader + " and not there";
    if (own == here.files.end()) return name + " is there and not on " + leader;
    if (own->second != other->second) return name + " is another one there than on " + leader;
  }
  return "";
}

std::optional<Error> differing_folder(const std::vector<Introduction>& agents,
                                      WeightsSeen Introduction::*which, const std::string& what) {
  const Introduction& leader = agents.front();
  std::vector<std::string> nodes;
  std::string folder, why;
  for (const Introduction& agent : agents) {
    if (agent.model.folder.empty()) continue;  // it has no model, and says why
    const WeightsSeen &here = leader.*which, &there = agent.*which;
    const std::string difference = first_difference(here, there, name_of(leader.facts));
    if (difference.empty()) continue;
    if (nodes.empty()) {
      folder = there.folder.empty() ? here.folder : there.folder;
      why = difference;
    }
    nodes.push_back(name_of(agent.facts));
  }
  if (nodes.empty()) return std::nullopt;
  Error error(ExitCode::kData, what + " are not the same on all nodes");
  error.where(folder + " on " + join(nodes, ", ")).why(why);
  return error.hint("copy that folder of " + name_of(leader.facts) +
                    " to every node, or name one on a file system that all nodes share");
}

// "10.0.0.1 on eth0"
std::string place_of(const Introduction& agent) {
  return agent.address + (agent.interface.empty() ? "" : " on " + agent.interface);
}

// "node 1", "nodes 0 to 7", "nodes 0, 2, 4"
std::string numbers(const std::vector<int>& agents) {
  if (agents.size() == 1) return "node " + std::to_string(agents.front());
  if (agents.back() - agents.front() == static_cast<int>(agents.size()) - 1) {
    return "nodes " + std::to_string(agents.front()) + " to " + std::to_string(agents.back());
  }
  std::vector<std::string> names;
  for (const int agent : agents) names.push_back(std::to_string(agent));
  return "nodes " + join(names, ", ");
}

}  // namespace

std::string name_of(const plan::AgentFacts& facts) {
  return "node " + std::to_string(facts.agent) + (facts.host.empty() ? "" : " (" + facts.host + ")");
}

std::map<std::string, std::string> comparable_arguments(const Json& arguments) {
  std::map<std::string, std::string> comparable;
  const bool own_folders = arguments.value("save_on_each_node", false);
  for (const auto& [key, value] : arguments.items()) {
    if (own_folders && key == "output_dir") continue;
    if (std::find(kOwnArguments.begin(), kOwnArguments.end(), key) == kOwnArguments.end()) {
      comparable[key] = value.dump();
    }
  }
  return comparable;
}

std::optional<Error> differing_arguments(const std::vector<Introduction>& agents) {
  const Introduction& leader = agents.front();
  std::set<std::string> keys;
  for (const Introduction& agent : agents) {
    for (const auto& [key, value] : agent.arguments) keys.insert(key);
  }
  std::vector<Diagnostic> found;
  for (const std::string& key : keys) {
    for (const Introduction& agent : agents) {
      const std::string here = value_in(leader, key), there = value_in(agent, key);
      if (here == there) continue;
      found.push_back({Diagnostic::Severity::kError, "--" + key + " is not the same on all nodes",
                       name_of(agent.facts),
                       "it is " + there + " on " + name_of(agent.facts) + ", and " + here + " on " +
                           name_of(leader.facts),
                       "start every node with the same arguments and configuration files"});
      break;  // one node per argument is enough to find the mistake
    }
  }
  if (found.empty()) return std::nullopt;
  return Error(ExitCode::kUsage, std::move(found));
}

std::optional<Error> differing_weights(const std::vector<Introduction>& agents) {
  if (auto error = differing_folder(agents, &Introduction::model, "the weights of the model")) return error;
  return differing_folder(agents, &Introduction::adapter, "the weights of the adapter");
}

std::vector<Peer> peers_of(const std::vector<Introduction>& agents) {
  std::vector<Peer> peers;
  std::set<std::string> machines;
  for (const Introduction& agent : agents) {
    if (agent.answer_port == 0 || !machines.insert(agent.facts.machine).second) continue;
    peers.push_back({agent.facts.agent, agent.address, agent.answer_port, agent.answer});
  }
  return peers;
}

std::optional<Error> unreached_machines(const std::vector<Introduction>& agents, const Unreached& unreached) {
  const auto why_not = [&](int from, int to) -> const std::string* {
    const auto tried = unreached.find(from);
    if (tried == unreached.end()) return nullptr;
    const auto found = tried->second.find(to);
    return found == tried->second.end() ? nullptr : &found->second;
  };
  std::vector<Diagnostic> found;
  for (const auto& [from, reasons] : unreached) {
    for (const auto& [to, why] : reasons) {
      const std::string* back = why_not(to, from);
      if (back != nullptr && to < from) continue;  // said with the other
      const Introduction &here = agents[static_cast<size_t>(from)], &there = agents[static_cast<size_t>(to)];
      found.push_back(
          {Diagnostic::Severity::kError,
           back != nullptr ? name_of(here.facts) + " and " + name_of(there.facts) + " cannot reach each other"
                           : name_of(here.facts) + " cannot reach " + name_of(there.facts),
           "from " + place_of(here) + " to " + place_of(there),
           back != nullptr ? why + "; back: " + *back : why + "; the other way is open",
           "ranks connect to each other at ports that are free: let TCP through between these machines"});
    }
  }
  if (found.empty()) return std::nullopt;
  return Error(ExitCode::kEnvironment, std::move(found));
}

std::vector<std::string> describe_agents(const std::vector<Introduction>& agents) {
  std::vector<std::string> lines;
  std::set<std::string> told;
  for (const Introduction& agent : agents) {
    if (!told.insert(agent.facts.machine).second) continue;
    std::vector<int> here;
    std::set<int> cores;
    for (const Introduction& other : agents) {
      if (other.facts.machine != agent.facts.machine) continue;
      here.push_back(other.facts.agent);
      cores.insert(other.facts.cores.begin(), other.facts.cores.end());
    }
    std::string line = agent.facts.host + ", " + place_of(agent);
    const int count =
        cores.empty() ? agent.facts.topology.host.usable_cores() : static_cast<int>(cores.size());
    line +=
        ": " + numbers(here) + ", " + std::to_string(count) + (count == 1 ? " core, " : " cores, ") +
        format_bytes(static_cast<uint64_t>(std::max<int64_t>(0, agent.facts.topology.host.available_bytes))) +
        " free memory, " + gpus_of(agent.facts.topology);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace hftrain::launcher
