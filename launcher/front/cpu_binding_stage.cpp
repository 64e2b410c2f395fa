#include "launcher/front/cpu_binding_stage.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "hftrain/base/cpu_list.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/machine/cpu_map.h"
#include "launcher/supervision/core_binding.h"

namespace hftrain::front {
namespace {

using launcher::Binding;

struct Asked {
  Binding binding;
  std::string flag;
};

std::optional<Asked> asked_binding(const arguments::ParseOutcome& parsed) {
  const arguments::LaunchArguments& launch = parsed.arguments.launch;
  const auto as = [&](Binding binding, const char* flag) {
    return Asked{binding, parsed.origins.describe(flag)};
  };
  if (launch.bind_cores_to_rank) return as(Binding::kOwnCores, "bind_cores_to_rank");
  if (launch.numa_binding == "socket") return as(Binding::kSocket, "numa_binding");
  if (launch.numa_binding == "exclusive") return as(Binding::kExclusive, "numa_binding");
  if (launch.numa_binding == "core-complex") return as(Binding::kCoreComplex, "numa_binding");
  if (launch.numa_binding) return as(Binding::kNode, "numa_binding");
  if (launch.enable_cpu_affinity) return as(Binding::kNode, "enable_cpu_affinity");
  return std::nullopt;
}

std::optional<int> node_of(const plan::RankPlan& rank, const plan::Topology& topology) {
  const std::vector<plan::VisibleDevice>& visible = topology.visible.devices;
  if (rank.ordinal < 0 || static_cast<size_t>(rank.ordinal) >= visible.size()) return std::nullopt;
  return machine::node_of_pci_device(visible[static_cast<size_t>(rank.ordinal)].device.pci_bus_id);
}

const plan::RankPlan& rank_of(const launcher::WorkerSpec& worker, const plan::RanksPlan& ranks) {
  return *std::find_if(ranks.ranks.begin(), ranks.ranks.end(),
                       [&](const plan::RankPlan& rank) { return rank.rank == worker.rank; });
}

}  // namespace

void confine_to_cores(const arguments::ParseOutcome& parsed) {
  const std::optional<std::string>& list = parsed.arguments.launch.bind_core_list;
  if (!list) return;
  const std::vector<int> allowed = machine::allowed_cpus();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : parse_cpu_list(*list).value_or(std::vector<int>{})) {
    if (!std::binary_search(allowed.begin(), allowed.end(), cpu)) {
      throw Error(ExitCode::kUsage, "CPU " + std::to_string(cpu) + " cannot be used")
          .where(parsed.origins.describe("bind_core_list"))
          .why("hftrain may use " + cpu_list_text(allowed))
          .hint(
              "CPUs of those, or ask whoever started hftrain for more (taskset, a cpuset, more CPUs of a "
              "Slurm task)");
    }
    CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof(set), &set) != 0)
    throw system_error(errno, "cannot be bound to cores", parsed.origins.describe("bind_core_list"));
}

std::string bind_workers(const arguments::ParseOutcome& parsed, const plan::Topology& topology,
                         const plan::RanksPlan& ranks, std::vector<launcher::WorkerSpec>& workers) {
  const std::optional<Asked> asked = asked_binding(parsed);
  if (!asked || workers.empty()) return "";
  if (rank_of(workers.front(), ranks).ranks_on_machine != static_cast<int>(workers.size())) {
    throw Error(ExitCode::kUsage, "ranks that another launcher has started are bound by it")
        .where(asked->flag)
        .why("each of them would take cores without knowing which the others have")
        .hint("mpirun --bind-to core, srun --cpu-bind=cores, or one process per machine");
  }
  std::vector<std::optional<int>> nodes;
  for (const launcher::WorkerSpec& worker : workers)
    nodes.push_back(node_of(rank_of(worker, ranks), topology));
  const auto cpus =
      bind_ranks(asked->binding, machine::read_cpu_map(machine::allowed_cpus()), nodes, asked->flag);
  std::vector<std::string> texts;
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].cpus = cpus[i];
    texts.push_back("rank " + std::to_string(workers[i].rank) + ": " + cpu_list_text(cpus[i]));
  }
  return "CPUs of the ranks (" + asked->flag + "): " + join(texts, ", ");
}

}  // namespace hftrain::front
