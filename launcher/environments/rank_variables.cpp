#include "launcher/environments/rank_variables.h"

#include <charconv>
#include <cstdint>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/base/whole_number.h"
#include "launcher/control/warning_notice.h"
#include "launcher/environments/slurm.h"

namespace hftrain::launcher {
namespace {

constexpr const char* kByHand = "the environment";

std::string listed(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + '=' + value);
  return join(texts, ", ");
}

// The variables of one launcher. The first name of each that is set counts.
struct Family {
  const char* by;
  std::vector<const char*> rank, size, local_rank, local_size;
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {kByHand, {"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"}},
      {"mpirun", {"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, {"MPI_LOCALNRANKS"}},
      {"mpirun",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
      {"mpirun",
       {"MV2_COMM_WORLD_RANK"},
       {"MV2_COMM_WORLD_SIZE"},
       {"MV2_COMM_WORLD_LOCAL_RANK"},
       {"MV2_COMM_WORLD_LOCAL_SIZE"}},
  };
  return all;
}

Error bad_number(const std::string& name, const std::string& value, const std::string& why) {
  return Error(ExitCode::kUsage, name + "=" + value + " of the environment is not usable")
      .where("environment " + name)
      .why(why)
      .hint("unset it, or --standalone for a run of this machine alone");
}

class Reader {
 public:
  Reader(const Environment& environment, int local_rank)
      : environment_(environment), local_rank_(local_rank) {}

  std::optional<StartedProcess> read(std::vector<std::string>& notices) {
    std::optional<StartedProcess> process;
    for (const Family& family : families()) {
      if (!process) process = complete(family);
    }
    if (process && process->by == kByHand) refuse_what_others_deny(*process);
    if (!process) process = slurm_step();
    // A launcher that has started one process says nothing of a rank that its caller set by hand.
    if (!process || (process->size == 1 && !process->always_a_rank)) {
      if (auto part = part_of_plain()) process = std::move(part);
    }
    if (!process || !process->missing.empty())
      notices.insert(notices.end(), leftovers_.begin(), leftovers_.end());
    return process;
  }

 private:
  using Variable = std::pair<std::string, std::string>;

  std::optional<Variable> first(const std::vector<const char*>& names) const {
    for (const char* name : names) {
      const std::optional<std::string> value = environment_.get(name);
      if (value && !value->empty()) return Variable{name, *value};
    }
    return std::nullopt;
  }

  std::optional<StartedProcess> complete(const Family& family) {
    const bool plain = &family == &families().front();
    std::vector<Variable> seen;
    std::vector<std::string> missing;
    const auto look = [&](const std::vector<const char*>& names) {
      if (const auto variable = first(names)) {
        seen.push_back(*variable);
      } else {
        missing.emplace_back(names.front());
      }
    };
    look(family.rank);
    if (seen.empty() && !(plain && names_others())) return std::nullopt;
    look(family.size);
    if (const auto local_rank = plain ? local_rank_of_plain() : std::nullopt) {
      seen.push_back(*local_rank);
    } else {
      look(family.local_rank);
    }
    look(family.local_size);
    if (plain) {
      look({"MASTER_ADDR"});
      look({"MASTER_PORT"});
    }
    if (!missing.empty()) {
      leftover(seen, missing);
      return std::nullopt;
    }
    return plain ? plain_process(seen) : mpi_process(family, seen);
  }

  // A rank that is alone by what a shell or an image has kept, under a launcher of several: each would train alone and write
  // into one folder. Launchers inside of another one (deepspeed in a step of srun) leave their names; torchrun is known by its own.
  void refuse_what_others_deny(const StartedProcess& plain) const {
    if (plain.size != 1 || first({"GROUP_RANK", "CROSS_RANK"})) return;
    Reader others(environment_, local_rank_);
    std::optional<StartedProcess> started;
    for (const Family& family : families()) {
      if (!started && &family != &families().front()) started = others.complete(family);
    }
    if (!started) started = others.slurm_step();
    if (!started || started->size == 1) return;
    throw Error(ExitCode::kUsage, "RANK and WORLD_SIZE deny what " + started->by + " says")
        .where("environment " + listed(plain.variables) + "; " + listed(started->variables))
        .why("by the first ones this process is the only rank, by those of " + started->by + " one of " +
             std::to_string(started->size) + ": each of them would train alone")
        .hint("unset RANK, WORLD_SIZE, LOCAL_RANK and " + plain.variables[3].first +
              ", or --standalone for runs of one process each");
  }

  // What is set of one process among several, where its rank is not. Older scripts say -1 for none.
  bool names_others() const {
    const auto size = first({"WORLD_SIZE"}), local_rank = first({"LOCAL_RANK"});
    return (local_rank && local_rank->second != "-1") || (size && size->second != "1");
  }

  std::optional<Variable> local_rank_of_plain() const {
    const auto variable = first(families().front().local_rank);
    return variable || local_rank_ < 0 ? variable : Variable{"--local_rank", std::to_string(local_rank_)};
  }

  // A process of several that was not told everything. Nothing when it is whole, or when RANK and WORLD_SIZE
  // are all there is: no launcher sets only these.
  std::optional<StartedProcess> part_of_plain() const {
    const Family& family = families().front();
    const auto rank = first(family.rank), size = first(family.size);
    const auto local_rank = local_rank_of_plain(), local_size = first(family.local_size);
    const auto host = first({"MASTER_ADDR"}), port = first({"MASTER_PORT"});
    if (!rank || !size || (!first(family.local_rank) && !local_size && !host && !port)) return std::nullopt;
    StartedProcess process;
    process.by = kByHand;
    process.size = number(*size, 1, INT32_MAX);
    if (process.size == 1) return std::nullopt;
    process.rank = number(*rank, 0, process.size - 1);
    process.local_size = local_size ? number(*local_size, 1, process.size) : 0;
    process.local_rank =
        local_rank ? number(*local_rank, 0, (local_size ? process.local_size : process.size) - 1) : -1;
    process.always_a_rank = true;
    process.meeting = Meeting::kFixedAddress;
    if (host) process.host = host->second;
    if (port) process.port = number(*port, 1, 65535);
    const std::pair<const char*, const std::optional<Variable>*> parts[] = {{"RANK", &rank},
                                                                            {"WORLD_SIZE", &size},
                                                                            {"LOCAL_RANK", &local_rank},
                                                                            {"LOCAL_WORLD_SIZE", &local_size},
                                                                            {"MASTER_ADDR", &host},
                                                                            {"MASTER_PORT", &port}};
    for (const auto& [name, variable] : parts) {
      if (*variable) {
        process.variables.push_back(**variable);
      } else {
        process.missing.emplace_back(name);
      }
    }
    return process;
  }

  void leftover(const std::vector<Variable>& seen, const std::vector<std::string>& missing) {
    leftovers_.push_back(std::string(kWarningNotice) + listed(seen) + " of the environment is not used: " +
                         join(missing, ", ") + (missing.size() == 1 ? " is" : " are") +
                         " missing, so no launcher has started this process as a rank: it "
                         "trains on this machine alone");
  }

  static StartedProcess numbers(const std::vector<Variable>& seen) {
    StartedProcess process;
    process.size = number(seen[1], 1, INT32_MAX);
    process.rank = number(seen[0], 0, process.size - 1);
    process.local_size = number(seen[3], 1, process.size);
    process.local_rank = number(seen[2], 0, process.local_size - 1);
    process.variables = seen;
    return process;
  }

  static int number(const Variable& variable, int64_t low, int64_t high) {
    const auto& [name, text] = variable;
    const auto value = signed_number<int64_t>(text);
    if (!value) throw bad_number(name, text, "it is not a whole number");
    if (*value < low || *value > high)
      throw bad_number(name, text, "it is not in " + std::to_string(low) + " to " + std::to_string(high));
    return static_cast<int>(*value);
  }

  StartedProcess plain_process(const std::vector<Variable>& seen) const {
    StartedProcess process = numbers(seen);
    process.by = environment_.get("TORCHELASTIC_RUN_ID") ? "torchrun" : kByHand;
    process.always_a_rank = true;
    process.host = seen[4].second;
    process.port = number(seen[5], 1, 65535);
    const bool store = environment_.get("TORCHELASTIC_USE_AGENT_STORE") == "True";
    process.meeting = store ? Meeting::kAgentStore : Meeting::kFixedAddress;
    if (store) process.variables.emplace_back("TORCHELASTIC_USE_AGENT_STORE", "True");
    return process;
  }

  StartedProcess mpi_process(const Family& family, const std::vector<Variable>& seen) const {
    StartedProcess process = numbers(seen);
    process.by = family.by;
    const bool open_mpi = seen[0].first == "OMPI_COMM_WORLD_RANK";
    process.meeting = open_mpi ? Meeting::kPmix : Meeting::kFixedAddress;
    if (const auto nodes = first({"OMPI_MCA_orte_num_nodes"}); open_mpi && nodes)
      process.nodes = number(*nodes, 1, INT32_MAX);
    if (!open_mpi) take_master_variables(process);
    return process;
  }

  // The batch and interactive steps, extern and the like have numbers from here on.
  static constexpr int64_t kFirstSpecialStep = 0xfffffff0;

  std::optional<StartedProcess> slurm_step() {
    const auto rank = first({"SLURM_PROCID", "PMIX_RANK"});
    const auto size = first({"SLURM_STEP_NUM_TASKS"});
    const auto local_rank = first({"SLURM_LOCALID"});
    const auto tasks = first({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
    const auto node = first({"SLURM_NODEID"});
    const auto hosts = first({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"});
    const auto step = first({"SLURM_STEP_ID", "SLURM_STEPID"});
    if (!rank || !size || !local_rank || !tasks || !node || !hosts || !step || is_special(step->second)) {
      if (const auto job = first({"SLURM_JOB_ID", "SLURM_JOBID"})) outside_of_a_step(*job);
      return std::nullopt;
    }
    const std::vector<int> counts = expand_tasks_per_node(tasks->second);
    if (counts.empty()) throw bad_number(tasks->first, tasks->second, "it is not a list like 4(x2),3");
    const int index = number(*node, 0, static_cast<int64_t>(counts.size()) - 1);
    const Variable local_size{tasks->first, std::to_string(counts[static_cast<size_t>(index)])};
    StartedProcess process = numbers({*rank, *size, *local_rank, local_size});
    process.by = "srun";
    process.nodes = static_cast<int>(counts.size());
    process.variables = {*rank, *size, *local_rank, *tasks, *hosts};
    process.meeting = Meeting::kFixedAddress;
    take_master_variables(process);
    if (process.host.empty()) derive_address(process, hosts->second, step->second);
    return process;
  }

  static bool is_special(const std::string& step) {
    const auto number = signed_number<int64_t>(step);
    return !number || *number >= kFirstSpecialStep;
  }

  // An sbatch script, a shell of salloc or of an interactive step: there is a job, but srun has not started
  // us.
  void outside_of_a_step(const Variable& job) {
    const auto nodes = first({"SLURM_JOB_NUM_NODES", "SLURM_NNODES"});
    const std::string machines =
        nodes && nodes->second != "1" ? " of its " + nodes->second + " machines" : "";
    leftovers_.push_back("inside Slurm job " + job.second +
                         ", but not started by srun: this run uses this machine alone" +
                         (machines.empty() ? std::string() : ", one" + machines) +
                         "; `srun --ntasks-per-node 1 hftrain …` uses all of them");
  }

  void take_master_variables(StartedProcess& process) const {
    const auto host = first({"MASTER_ADDR"}), port = first({"MASTER_PORT"});
    if (!host || !port) return;
    process.host = host->second;
    process.port = number(*port, 1, 65535);
    process.variables.push_back(*host);
    process.variables.push_back(*port);
  }

  void derive_address(StartedProcess& process, const std::string& list, const std::string& step) const {
    const std::vector<std::string> hosts = expand_node_list(list);
    if (hosts.empty())
      throw bad_number("SLURM_STEP_NODELIST", list, "it is not a list of machines like gpu[01-04,7]");
    int64_t job = 0, number_of_step = 0;
    const std::string job_text = first({"SLURM_JOB_ID", "SLURM_JOBID"}).value_or(Variable{"", "0"}).second;
    std::from_chars(job_text.data(), job_text.data() + job_text.size(), job);
    std::from_chars(step.data(), step.data() + step.size(), number_of_step);
    process.host = hosts.front();
    process.port = port_of_step(job, number_of_step);
    process.notices.push_back("the machines meet at " + process.host + ":" + std::to_string(process.port) +
                              ", the step's first machine and a port made from the numbers of job and step; "
                              "--master_addr and --master_port choose others");
  }

  const Environment& environment_;
  int local_rank_;
  std::vector<std::string> leftovers_;
};

}  // namespace

std::optional<StartedProcess> read_rank_variables(const Environment& environment, int local_rank,
                                                  std::vector<std::string>& notices) {
  return Reader(environment, local_rank).read(notices);
}

}  // namespace hftrain::launcher
