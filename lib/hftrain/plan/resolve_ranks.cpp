#include <algorithm>
#include <map>
#include <set>

#include "hftrain/base/text.h"
#include "hftrain/plan/resolve_parts.h"

namespace hftrain::plan {
namespace {

// --gpu_ids has become the mask.
bool mask_is_gpu_ids(const arguments::ParseOutcome& parsed) {
  const auto found = parsed.unread.find("gpu_ids");
  return found != parsed.unread.end() && found->second.is_string() && found->second != "all";
}

// The flag or key that asks for GPUs, if any: with it a machine without them does not train on its CPU.
std::optional<std::string> asks_for_gpus(const arguments::ParseOutcome& parsed) {
  const auto multi_gpu = parsed.unread.find("multi_gpu");
  if (multi_gpu != parsed.unread.end() && multi_gpu->second == true)
    return parsed.origins.describe("multi_gpu");
  if (mask_is_gpu_ids(parsed)) return parsed.origins.describe("gpu_ids");
  if (parsed.unread.count("num_gpus") > 0) return parsed.origins.describe("nproc_per_node");
  return std::nullopt;
}

// A note about the mask, which may be the user's or that of --gpu_ids.
std::string about_mask(const arguments::ParseOutcome& parsed, std::string text) {
  static const std::string kMask = "CUDA_VISIBLE_DEVICES";
  const size_t found = mask_is_gpu_ids(parsed) ? text.find(kMask) : std::string::npos;
  return found == std::string::npos ? text : text.replace(found, kMask.size(), "gpu_ids");
}

std::string mask_text(const Topology& topology) {
  return topology.mask ? "CUDA_VISIBLE_DEVICES=" + *topology.mask : "CUDA_VISIBLE_DEVICES is not set";
}

// The ranks of one agent.
struct Share {
  const AgentFacts* agent = nullptr;
  bool gpus = false;
  int count = 0;
};

class RankResolution {
 public:
  RankResolution(const ResolveInput& input, Problems& problems)
      : input_(input), problems_(problems), agents_(input.agents) {
    if (agents_.empty()) {
      AgentFacts alone;
      alone.topology = input.topology;
      alone.nproc_per_node = input.parsed.arguments.launch.nproc_per_node;
      agents_.push_back(std::move(alone));
    }
  }

  RanksPlan run() {
    RanksPlan plan;
    // Beyond that the nanoseconds of deadlines overflow.
    constexpr int64_t kHundredYears = int64_t{100} * 365 * 24 * 3600;
    plan.timeout_seconds = std::min(input_.parsed.arguments.parallel.ddp_timeout, kHundredYears);
    check_assigned_ranks();
    for (const AgentFacts& agent : agents_) {
      shares_.push_back(share_of(agent));
      if (input_.elsewhere && !problems_.none()) return plan;  // those of --machines are all alike
    }
    check_kinds();
    if (!problems_.none()) return plan;
    for (const Share& share : shares_) add_ranks(share, plan);
    std::sort(plan.ranks.begin(), plan.ranks.end(),
              [](const RankPlan& a, const RankPlan& b) { return a.rank < b.rank; });
    number_nodes(plan);
    check_shared_gpus(plan);
    plan.backend = choose_backend(plan);
    return plan;
  }

 private:
  bool several() const { return agents_.size() > 1; }

  // Where a mistake is, for people; nothing where there is only one place.
  std::string on(const AgentFacts& agent) const {
    return several() ? " on node " + std::to_string(agent.agent) + " (" + agent.host + ")" : "";
  }

  // Ranks that the environment gave must be each once, and the first one where the store is served.
  void check_assigned_ranks() {
    const auto assigned = std::count_if(agents_.begin(), agents_.end(),
                                        [](const AgentFacts& agent) { return agent.assigned.has_value(); });
    if (assigned == 0) return;
    std::set<int> seen;
    bool good = assigned == static_cast<std::ptrdiff_t>(agents_.size()) && agents_.front().assigned &&
                agents_.front().assigned->rank == 0;
    for (const AgentFacts& agent : agents_) {
      if (!agent.assigned) continue;
      good = good && agent.assigned->world_size == static_cast<int>(agents_.size()) &&
             agent.assigned->rank >= 0 && agent.assigned->rank < agent.assigned->world_size &&
             seen.insert(agent.assigned->rank).second;
    }
    if (good) return;
    std::vector<std::string> ranks;
    for (const AgentFacts& agent : agents_) {
      ranks.push_back(agent.assigned ? std::to_string(agent.assigned->rank) + " of " +
                                           std::to_string(agent.assigned->world_size)
                                     : "none");
    }
    problems_.usage("the ranks that the environment gives do not make one job", "RANK and its like",
                    "the programs were given " + join(ranks, ", "),
                    "start all of them with one mpirun, srun or torchrun, one per rank or one per machine");
  }

  // Whether the ranks run on GPUs. A GPU that is there but cannot be used is an error, never a silent CPU
  // run.
  bool choose_gpus(const AgentFacts& agent) {
    const Topology& topology = agent.topology;
    if (input_.parsed.arguments.device.use_cpu) return false;
    const bool hidden = hides_gpus(topology);
    if (!hidden && !topology.visible.devices.empty()) return true;
    const std::vector<std::string>& notes = topology.visible.notes;
    if (!hidden && !topology.gpu_problem.empty()) {
      problems_.environment("the GPUs of this machine cannot be used" + on(agent), "", topology.gpu_problem,
                            "another driver, or --use_cpu");
    } else if (!hidden && topology.mask && !topology.devices.empty()) {
      const bool by_flag = mask_is_gpu_ids(input_.parsed);
      problems_.environment(
          (by_flag ? "gpu_ids" : "CUDA_VISIBLE_DEVICES") + std::string(" leaves no GPU") + on(agent),
          by_flag ? input_.parsed.origins.describe("gpu_ids") : mask_text(topology),
          notes.empty() ? "this machine has " + std::to_string(topology.devices.size()) + " GPUs"
                        : about_mask(input_.parsed, notes.front()),
          "`hftrain devices` shows them; --use_cpu trains without");
    } else if (!hidden && !topology.devices.empty()) {
      problems_.environment("no GPU of this machine can compute" + on(agent), "", notes.front(),
                            "create a MIG instance, or --use_cpu");
    } else if (const auto flag = asks_for_gpus(input_.parsed)) {
      problems_.environment("a GPU is asked for, and there is none" + on(agent), *flag, no_gpu(topology),
                            "`hftrain doctor` says more; --use_cpu trains without");
    }
    return false;
  }

  static std::string no_gpu(const Topology& topology) {
    if (hides_gpus(topology)) return mask_text(topology) + " hides all of them";
    return topology.driver_version.empty() ? "no NVIDIA driver answers on this machine"
                                           : "the NVIDIA driver " + topology.driver_version + " lists none";
  }

  // Ranks that --nproc_per_node asks for; 0 when it was refused.
  int asked_ranks(const AgentFacts& agent, bool gpus) {
    const int visible = static_cast<int>(agent.topology.visible.devices.size());
    const std::optional<std::string>& asked = agent.nproc_per_node;
    const std::string where = input_.parsed.origins.describe("nproc_per_node");
    if (agent.assigned) return 1;
    if (!asked)
      return gpus ? visible : static_cast<int>(input_.parsed.arguments.launch.cpu_ranks.value_or(1));
    if (*asked == "auto") return gpus ? visible : agent.topology.host.usable_cores();
    if (*asked == "cpu") return agent.topology.host.usable_cores();
    if (*asked == "gpu") {
      if (gpus) return visible;
      problems_.environment(
          "nproc_per_node gpu needs a GPU" + on(agent), where,
          input_.parsed.arguments.device.use_cpu ? "--use_cpu was given" : "none is visible",
          "--nproc_per_node cpu, or a number; `hftrain devices` shows what this machine has");
      return 0;
    }
    return std::stoi(*asked);  // checked by the arguments module, and where another agent says it
  }

  Share share_of(const AgentFacts& agent) {
    Share share{&agent, choose_gpus(agent), 0};
    share.count = std::max(1, asked_ranks(agent, share.gpus));
    const int visible = static_cast<int>(agent.topology.visible.devices.size());
    if (share.gpus && share.count > visible) {
      problems_.usage("there are more ranks than GPUs: " + std::to_string(share.count) + " ranks, " +
                          std::to_string(visible) + " visible GPUs" + on(agent),
                      input_.parsed.origins.describe("nproc_per_node"), mask_text(agent.topology),
                      "--nproc_per_node " + std::to_string(visible) + ", or --use_cpu");
    }
    return share;
  }

  void check_kinds() {
    for (const Share& share : shares_) {
      if (share.gpus == shares_.front().gpus) continue;
      const Share& with = share.gpus ? share : shares_.front();
      const Share& without = share.gpus ? shares_.front() : share;
      problems_.environment("some nodes have GPUs and others have none",
                            "node " + std::to_string(without.agent->agent) + " (" + without.agent->host + ")",
                            "it shows no GPU, and node " + std::to_string(with.agent->agent) + " (" +
                                with.agent->host + ") has " +
                                std::to_string(with.agent->topology.visible.devices.size()),
                            "repair the driver there, leave that node out, or --use_cpu");
      return;
    }
  }

  void add_ranks(const Share& share, RanksPlan& plan) {
    for (int i = 0; i < share.count; ++i) {
      RankPlan rank;
      rank.rank = share.agent->assigned ? share.agent->assigned->rank : static_cast<int>(plan.ranks.size());
      rank.local_rank = share.agent->assigned ? share.agent->assigned->local_rank : -1;
      rank.agent = share.agent->agent;
      rank.threads = threads_of(share);
      rank.device_name = "cpu";
      if (share.gpus) give_gpu(*share.agent, i, rank);
      plan.ranks.push_back(std::move(rank));
    }
    plan.world_size = static_cast<int>(plan.ranks.size());
  }

  // A given rank takes the GPU of its local rank, unless its environment shows it only its own.
  void give_gpu(const AgentFacts& agent, int position, RankPlan& rank) const {
    const std::vector<VisibleDevice>& visible = agent.topology.visible.devices;
    int ordinal = position;
    if (agent.assigned && visible.size() > 1) {
      const int local_rank = rank.local_rank < 0 ? position_on_machine(agent) : rank.local_rank;
      ordinal = std::min(local_rank, static_cast<int>(visible.size()) - 1);
    }
    const CudaDevice& device = visible[static_cast<size_t>(ordinal)].device;
    rank.device = DeviceKind::kCuda;
    rank.ordinal = ordinal;
    rank.device_name = device.name;
    rank.device_uuid = device.uuid;
  }

  // Among the given ranks of its machine, for one that was not told its local rank.
  int position_on_machine(const AgentFacts& agent) const {
    return static_cast<int>(std::count_if(agents_.begin(), agents_.end(), [&agent](const AgentFacts& other) {
      return other.machine == agent.machine && other.assigned && other.assigned->rank < agent.assigned->rank;
    }));
  }

  // Each core is shared by the ranks that may use it, those of other agents on the machine among them.
  int threads_of(const Share& share) const {
    const HostResources& host = share.agent->topology.host;
    if (host.requested_threads) return *host.requested_threads;
    if (share.agent->cores.empty()) return std::max(1, host.usable_cores() / ranks_on_machine(*share.agent));
    std::map<int, int> users;
    for (const Share& other : shares_) {
      if (other.agent->machine != share.agent->machine) continue;
      for (const int core : other.agent->cores) users[core] += other.count;
    }
    double cores = 0;
    for (const int core : share.agent->cores) cores += 1.0 / users[core];
    if (host.quota_cores) cores = std::min(cores, *host.quota_cores / ranks_on_machine(*share.agent));
    return std::max(1, static_cast<int>(cores + 1e-6));
  }

  int ranks_on_machine(const AgentFacts& agent) const {
    int count = 0;
    for (const Share& share : shares_) {
      if (share.agent->machine == agent.machine) count += share.count;
    }
    return count;
  }

  // Machines, or the output folders on each, in the order of their first rank.
  void number_nodes(RanksPlan& plan) const {
    std::map<std::pair<std::string, std::string>, int> nodes;
    std::map<std::string, int> ranks_of_machine;
    std::vector<int> ranks_of_node;
    for (RankPlan& rank : plan.ranks) {
      const AgentFacts& agent = agents_[static_cast<size_t>(rank.agent)];
      const std::pair node(agent.machine, agent.output_folder);
      rank.node = nodes.emplace(node, static_cast<int>(nodes.size())).first->second;
      ranks_of_node.resize(nodes.size());
      const int position = ranks_of_node[static_cast<size_t>(rank.node)]++;
      if (rank.local_rank < 0) rank.local_rank = position;
      ++ranks_of_machine[agent.machine];
    }
    for (RankPlan& rank : plan.ranks) {
      rank.local_world_size = ranks_of_node[static_cast<size_t>(rank.node)];
      rank.ranks_on_machine = ranks_of_machine[agents_[static_cast<size_t>(rank.agent)].machine];
      plan.ranks_on_machine = std::max(plan.ranks_on_machine, rank.ranks_on_machine);
    }
    plan.nodes = static_cast<int>(nodes.size());
    plan.machines = static_cast<int>(ranks_of_machine.size());
    plan.local_world_size = *std::max_element(ranks_of_node.begin(), ranks_of_node.end());
  }

  void check_shared_gpus(const RanksPlan& plan) {
    std::map<std::pair<std::string, std::string>, const RankPlan*> owners;
    for (const RankPlan& rank : plan.ranks) {
      if (rank.device_uuid.empty()) continue;
      const AgentFacts& agent = agents_[static_cast<size_t>(rank.agent)];
      const auto [place, fresh] = owners.emplace(std::pair(agent.machine, rank.device_uuid), &rank);
      if (fresh) continue;
      problems_.usage(
          "ranks " + std::to_string(place->second->rank) + " and " + std::to_string(rank.rank) +
              " would share one GPU" + on(agent),
          mask_text(agent.topology),
          "both are on that machine and take " + rank.device_name + " " + rank.device_uuid,
          "give each program GPUs of its own (CUDA_VISIBLE_DEVICES), or start fewer of them there");
      return;
    }
  }

  // Backends that work here, the best first.
  std::vector<std::string> fitting_backends(const RanksPlan& plan) const {
    if (on_gpu(plan)) return {"nccl"};
    // MPI starts once per mpirun: a restarted rank could not join again.
    const bool mpi =
        input_.parsed.arguments.launch.max_restarts == 0 &&
        std::all_of(agents_.begin(), agents_.end(), [](const AgentFacts& agent) { return agent.joins_mpi; });
    std::vector<std::string> fitting;
    if (plan.machines == 1 && see_each_other()) fitting.emplace_back("shm");
    if (mpi && plan.machines > 1) fitting.emplace_back("mpi");
    fitting.emplace_back("gloo");
    if (mpi && plan.machines == 1) fitting.emplace_back("mpi");
    return fitting;
  }

  // Shared memory is opened through /proc.
  bool see_each_other() const {
    return std::all_of(agents_.begin(), agents_.end(),
                       [&](const AgentFacts& agent) { return agent.processes == agents_.front().processes; });
  }

  std::string choose_backend(const RanksPlan& plan) {
    if (plan.world_size == 1) return "none";
    const bool gpus = on_gpu(plan);
    const std::vector<std::string> fitting = fitting_backends(plan);
    const std::string backend = input_.parsed.arguments.parallel.ddp_backend.value_or(fitting[0]);
    if (std::find(fitting.begin(), fitting.end(), backend) != fitting.end()) return backend;
    const bool not_joined = !gpus && (backend == "mpi" || (backend == "shm" && plan.machines == 1));
    problems_.usage("ddp_backend " + backend + " does not work with " +
                        (not_joined           ? "these ranks"
                         : gpus               ? "ranks on GPUs"
                         : plan.machines == 1 ? "ranks on the CPU"
                                              : "ranks on several machines"),
                    input_.parsed.origins.describe("ddp_backend"), why_not(backend, gpus),
                    "--ddp_backend " + fitting[0] + ", or leave it out");
    return fitting[0];
  }

  static std::string why_not(const std::string& backend, bool gpus) {
    if (gpus) return "it moves tensors of the CPU only";
    if (backend == "shm") return "it joins ranks of one machine only, in one container";
    if (backend == "mpi") {
      return "it joins ranks that mpirun started, one process per rank and without --max_restarts (MPI "
             "starts once "
             "per mpirun), and is built where there is Open MPI (libopenmpi-dev, openmpi-bin)";
    }
    return "it moves tensors of GPUs only";
  }

  const ResolveInput& input_;
  Problems& problems_;
  std::vector<AgentFacts> agents_;
  std::vector<Share> shares_;
};

}  // namespace

RanksPlan resolve_ranks(const ResolveInput& input, Problems& problems) {
  return RankResolution(input, problems).run();
}

std::vector<Diagnostic> gpu_notes(const ResolveInput& input) {
  std::vector<Diagnostic> notes;
  if (input.parsed.arguments.device.use_cpu) return notes;
  for (const std::string& text : input.topology.visible.notes) {
    Diagnostic note;
    note.severity = Diagnostic::Severity::kWarning;
    note.what = about_mask(input.parsed, text);
    notes.push_back(std::move(note));
  }
  return notes;
}

const Topology& topology_of(const ResolveInput& input, const RankPlan& rank) {
  return input.agents.empty() ? input.topology : input.agents[static_cast<size_t>(rank.agent)].topology;
}

int cores_of_first_machine(const ResolveInput& input) {
  const HostResources& host = input.topology.host;
  std::set<int> cores;
  for (const AgentFacts& agent : input.agents) {
    if (agent.machine == input.agents.front().machine) cores.insert(agent.cores.begin(), agent.cores.end());
  }
  if (cores.empty()) return host.usable_cores();
  const int count = static_cast<int>(cores.size());
  return host.quota_cores ? std::max(1, std::min(count, static_cast<int>(*host.quota_cores))) : count;
}

}  // namespace hftrain::plan
