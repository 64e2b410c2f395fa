#include <algorithm>
#include <map>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// The ranks of one front program, and the cores that whoever started it has left them.
struct BoundRanks {
  std::vector<int> ranks;
  int cores = 0, of = 0, threads = 0;
};

std::string rank_list(const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back(std::to_string(rank));
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

std::string counted(int count, const std::string& thing) {
  return std::to_string(count) + ' ' + thing + (count == 1 ? "" : "s");
}

const HostResources& host_of(const ResolveInput& input, int agent) {
  return input.agents.empty() ? input.topology.host : input.agents[static_cast<size_t>(agent)].topology.host;
}

// Those with the same numbers together: a large job is told in a line.
std::vector<BoundRanks> bound_ranks(const ResolveInput& input, const RanksPlan& plan) {
  std::vector<BoundRanks> found;
  for (const RankPlan& rank : plan.ranks) {
    const HostResources& host = host_of(input, rank.agent);
    if (host.allowed_cores >= host.machine_cores) continue;
    const auto same = std::find_if(found.begin(), found.end(), [&](const BoundRanks& other) {
      return other.cores == host.allowed_cores && other.of == host.machine_cores &&
             other.threads == rank.threads;
    });
    if (same != found.end()) {
      same->ranks.push_back(rank.rank);
    } else {
      found.push_back({{rank.rank}, host.allowed_cores, host.machine_cores, rank.threads});
    }
  }
  return found;
}

struct Use {
  std::map<int, std::set<int>> agents_of_core;
  std::map<int, std::vector<int>> ranks_of_agent;
  int cores = 0;  // of the machine
};

// Machines on which several front programs (one per rank under mpirun) have been bound.
std::map<std::string, Use> uses(const ResolveInput& input, const RanksPlan& plan) {
  std::map<std::string, Use> machines;
  for (const AgentFacts& agent : input.agents) {
    const HostResources& host = agent.topology.host;
    if (agent.cores.empty() || host.allowed_cores >= host.machine_cores) continue;
    Use& use = machines[agent.machine];
    use.cores = host.machine_cores;
    for (const int core : agent.cores) use.agents_of_core[core].insert(agent.agent);
  }
  for (const RankPlan& rank : plan.ranks) {
    for (auto& [machine, use] : machines) {
      if (!input.agents.empty() && input.agents[static_cast<size_t>(rank.agent)].machine == machine)
        use.ranks_of_agent[rank.agent].push_back(rank.rank);
    }
  }
  return machines;
}

}  // namespace

void note_binding(const ResolveInput& input, const RanksPlan& plan, std::vector<Diagnostic>& notes) {
  const bool named = input.parsed.arguments.launch.bind_core_list.has_value();
  for (const BoundRanks& bound : bound_ranks(input, plan)) {
    notes.push_back({Diagnostic::Severity::kNote,
                     rank_list(bound.ranks) + ": " + std::to_string(bound.cores) + " of " +
                         counted(bound.of, "core") + ", " + counted(bound.threads, "thread") +
                         (bound.ranks.size() == 1 ? "" : " each"),
                     "",
                     named ? input.parsed.origins.describe("bind_core_list") + " names the cores of the run"
                           : "bound by what started " + std::string(bound.ranks.size() == 1 ? "it" : "them") +
                                 " (mpirun, srun, taskset)",
                     ""});
  }
  for (const auto& [machine, use] : uses(input, plan)) {
    const int idle = use.cores - static_cast<int>(use.agents_of_core.size());
    for (const auto& [core, agents] : use.agents_of_core) {
      if (agents.size() < 2 || idle == 0) continue;
      std::vector<int> ranks;
      for (const int agent : agents) {
        const std::vector<int>& own = use.ranks_of_agent.at(agent);
        ranks.insert(ranks.end(), own.begin(), own.end());
      }
      notes.push_back({Diagnostic::Severity::kWarning,
                       rank_list(ranks) + " share core " + std::to_string(core) + ", and " +
                           counted(idle, "core") + " of the machine " + (idle == 1 ? "has" : "have") +
                           " no rank",
                       "", "that is how whatever started them has bound them",
                       "mpirun --bind-to none, or --map-by core"});
      break;  // one core tells it
    }
  }
}

}  // namespace hftrain::plan
