// The templates in configs/cluster: their command lines are understood, and every process finds its place in
// the environment that the scheduler makes.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "launcher/environments/find_membership.h"
#include "launcher/ssh/host_file.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

std::string template_path(const std::string& name) {
  return testing::source_dir() + "/configs/cluster/" + name;
}

std::string text_without(std::string text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

// The words of the shell command that starts hftrain, from the launcher on.
Words command_of_script(const std::string& name) {
  std::string script = read_file(template_path(name));
  script = text_without(script, "\\\n");
  for (const std::string& line : split(script, '\n')) {
    if (trim(line).starts_with('#') || line.find("hftrain ") == std::string::npos) continue;
    Words words = split_words(text_without(line, "\""));
    std::erase_if(words, [](const std::string& word) { return word == "exec" || word == "&"; });
    return words;
  }
  FAIL("no command in " << name);
  return {};
}

// The items of `key:` of a YAML file, one "- item" a line.
Words list_of_yaml(const std::string& name, const std::string& key) {
  Words items;
  bool inside = false;
  for (const std::string& line : split(read_file(template_path(name)), '\n')) {
    const std::string text = trim(line);
    if (inside && !text.starts_with("- ")) break;
    if (inside) items.push_back(text_without(text.substr(2), "\""));
    inside = inside || text == key + ":";
  }
  return items;
}

struct Placed {
  Membership membership;
  arguments::ParseOutcome parsed;
};

// What `hftrain` in the words makes of itself in an environment.
Placed placed(Words words, const Variables& variables, int gpus) {
  const auto program = std::find(words.begin(), words.end(), "hftrain");
  REQUIRE(program != words.end());
  Words flags(program + 1, words.end());
  for (std::string& word : flags) {
    if (word.starts_with("configs/")) word = testing::source_dir() + '/' + word;
  }
  const Environment environment(variables);
  arguments::ParseOutcome parsed = arguments::parse_arguments(flags, environment);
  Membership membership = find_membership(parsed.arguments.launch, environment, gpus, parsed.origins);
  return {std::move(membership), std::move(parsed)};
}

Variables step(int node) {
  return {{"SLURM_JOB_ID", "99"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", std::to_string(node)},
          {"SLURM_LOCALID", "0"},
          {"SLURM_NODEID", std::to_string(node)},
          {"SLURM_STEP_NUM_TASKS", "2"},
          {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
          {"SLURM_STEP_NODELIST", "n[1-2]"}};
}

Variables mpi_on_two_nodes(int rank, int size, int local_rank, int local_size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
          {"OMPI_MCA_orte_num_nodes", "2"}};
}

}  // namespace

TEST_CASE("slurm_srun.sbatch: one front program per machine, which starts its ranks") {
  const Words command = command_of_script("slurm_srun.sbatch");
  CHECK(command.front() == "srun");
  const Placed second = placed(command, step(1), 8);
  CHECK(second.membership.agents == 2);
  CHECK(second.membership.agent == 1);
  CHECK_FALSE(second.membership.assigned);
  CHECK(second.membership.master_host == "n1");
}

TEST_CASE("slurm_mpirun.sbatch: mpirun's processes count, not those of the batch script") {
  const Words command = command_of_script("slurm_mpirun.sbatch");
  CHECK(command.front() == "mpirun");
  Variables variables = step(0);
  variables.merge(mpi_on_two_nodes(1, 2, 0, 1));
  const Placed second = placed(command, variables, 0);
  CHECK(second.membership.agent == 1);
  CHECK_FALSE(second.membership.assigned);
  CHECK(second.membership.meeting == Meeting::kPmix);
  CHECK(second.parsed.arguments.launch.nproc_per_node == "4");
  // mpirun gives those it starts a second after a SIGTERM, and passes SIGUSR1 on.
  const std::string script = read_file(template_path("slurm_mpirun.sbatch"));
  CHECK(script.find("#SBATCH --signal=B:USR1@600\n") != std::string::npos);
  CHECK(script.find("kill -USR1 \"$mpirun\"' USR1\n") != std::string::npos);
  CHECK(script.find("kill -TERM") == std::string::npos);
}

TEST_CASE("mpirun.sh: one process per rank of the host file") {
  const Words command = command_of_script("mpirun.sh");
  const std::vector<Host> hosts = parse_host_file(read_file(template_path("hostfile")), "hostfile");
  size_t slots = 0;
  for (const Host& host : hosts) slots += host.slots.size();
  const auto count = std::find(command.begin(), command.end(), "-n");
  REQUIRE(count != command.end());
  CHECK(*(count + 1) == std::to_string(slots));
  const Placed last = placed(command, mpi_on_two_nodes(15, 16, 7, 8), 0);
  REQUIRE(last.membership.assigned);
  CHECK(last.membership.assigned->rank == 15);
  CHECK(last.membership.assigned->local_world_size == 8);
}

TEST_CASE("hostfile.sh: the file is read and needs no number of a machine") {
  const Placed started = placed(command_of_script("hostfile.sh"), {}, 8);
  CHECK(started.membership.agents == 1);
  CHECK(read_hosts(started.parsed.arguments.launch).size() == 2);
}

TEST_CASE("mpijob.yaml: one process per worker pod") {
  const Words command = list_of_yaml("mpijob.yaml", "command");
  REQUIRE_FALSE(command.empty());
  CHECK(command.front() == "mpirun");
  const Placed first = placed(command, mpi_on_two_nodes(0, 2, 0, 1), 0);
  CHECK(first.membership.agents == 2);
  CHECK(first.membership.leads());
  CHECK_FALSE(first.membership.assigned);
}

TEST_CASE("trainjob.yaml: a pod is a machine by the variables of the torch runtime") {
  Words command = list_of_yaml("trainjob.yaml", "command");
  const Words flags = list_of_yaml("trainjob.yaml", "args");
  CHECK(flags.size() > 2);
  command.insert(command.end(), flags.begin(), flags.end());
  const Placed second = placed(command,
                               {{"PET_NNODES", "2"},
                                {"PET_NODE_RANK", "1"},
                                {"PET_MASTER_ADDR", "hftrain-node-0-0.hftrain"},
                                {"PET_MASTER_PORT", "29500"},
                                {"PET_NPROC_PER_NODE", "8"}},
                               8);
  CHECK(second.membership.agents == 2);
  CHECK(second.membership.agent == 1);
  CHECK(second.membership.master_host == "hftrain-node-0-0.hftrain");
  CHECK(second.parsed.arguments.launch.nproc_per_node == "8");
}

TEST_CASE("every template is one of these") {
  const std::vector<std::string> tested = {
      "slurm_srun.sbatch", "slurm_mpirun.sbatch", "mpirun.sh",     "hostfile.sh",
      "hostfile",          "mpijob.yaml",         "trainjob.yaml", "run.yaml"};
  for (const auto& file : std::filesystem::directory_iterator(template_path(""))) {
    INFO(file.path().string());
    CHECK(std::find(tested.begin(), tested.end(), file.path().filename().string()) != tested.end());
  }
}

}  // namespace hftrain::launcher
