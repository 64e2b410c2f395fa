#include "launcher/environments/find_membership.h"

#include <limits>

#include "contains.h"
#include "hftrain/base/error.h"
#include "launcher/environments/slurm.h"
#include "support/catch.h"

namespace hftrain::launcher {
namespace {

using arguments::LaunchArguments;
using arguments::Origins;
using testing::contains;
using Variables = std::map<std::string, std::string>;

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Variables open_mpi(int rank, int size, int local_rank, int local_size) {
  return {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
          {"OMPI_COMM_WORLD_LOCAL_RANK", std::to_string(local_rank)},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)},
          {"PMIX_RANK", std::to_string(rank)}};
}

// Two machines with two ranks each; this is rank 3.
const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "node0"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "none"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

// What srun sets in a task of a step on two machines, one task each; this is the second.
const Variables kStep = {{"SLURM_JOB_ID", "4711"},
                         {"SLURM_STEP_ID", "2"},
                         {"SLURM_PROCID", "1"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_NODEID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                         {"SLURM_STEP_NODELIST", "gpu[03-04]"}};

// What a shell of salloc has.
const Variables kAllocation = {{"SLURM_JOB_ID", "4711"},
                               {"SLURM_JOB_NUM_NODES", "2"},
                               {"SLURM_JOB_NODELIST", "gpu[03-04]"},
                               {"SLURM_NTASKS", "16"},
                               {"SLURM_TASKS_PER_NODE", "8(x2)"}};

Membership membership(const Variables& variables, const LaunchArguments& launch = {}, int gpus = 0,
                      const Origins& origins = {}) {
  return find_membership(launch, Environment(variables), gpus, origins);
}

std::string refusal(const Variables& variables, const LaunchArguments& launch = {}, int gpus = 0,
                    const Origins& origins = {}) {
  try {
    membership(variables, launch, gpus, origins);
  } catch (const Error& error) {
    return error.code() == ExitCode::kUsage ? error.render() : "wrong exit code";
  }
  return "";
}

LaunchArguments two_machines() {
  LaunchArguments launch;
  launch.nnodes = "2";
  launch.node_rank = 1;
  launch.master_addr = "10.0.0.5";
  return launch;
}

bool is(const std::optional<AssignedRank>& assigned, int rank, int local_rank, int world, int local_world) {
  return assigned && assigned->rank == rank && assigned->local_rank == local_rank &&
         assigned->world_size == world && assigned->local_world_size == local_world;
}

}  // namespace

TEST_CASE("without flags and variables a front program is alone") {
  const Membership alone = membership({{"HOME", "/root"}});
  CHECK(alone.agents == 1);
  CHECK(alone.leads());
  CHECK_FALSE(alone.assigned);
  CHECK(alone.meeting == Meeting::kNone);
  CHECK(alone.notices.empty());
  CHECK(describe(alone).empty());
}

TEST_CASE("nnodes, node_rank and master_addr make one agent per machine") {
  LaunchArguments launch = two_machines();
  launch.master_port = 1234;
  launch.rdzv_conf = "timeout=900,join_timeout=20";
  launch.local_addr = "10.0.0.6";
  const Membership second = membership({}, launch);
  CHECK(second.agents == 2);
  CHECK(second.agent == 1);
  CHECK_FALSE(second.assigned);
  CHECK(second.meeting == Meeting::kFixedAddress);
  CHECK(second.master_host == "10.0.0.5");
  CHECK(second.master_port == 1234);
  CHECK(second.meeting_seconds == 20);
  CHECK(second.local_address == "10.0.0.6");
  CHECK(membership({}, two_machines()).local_address.empty());
  CHECK_FALSE(membership({}, two_machines()).meeting_seconds);
  CHECK(membership({}, two_machines()).job_id.empty());
  launch.rdzv_id = "job";
  CHECK(membership({}, launch).job_id == "job");
  CHECK(describe(second) == "machine 1 of 2, at 10.0.0.6 (--local_addr)");
  CHECK(describe(membership({}, two_machines())) == "machine 1 of 2");
  CHECK(membership({}, two_machines()).master_port == 29500);
  CHECK_FALSE(membership({}, two_machines()).by_scheduler);
  Origins of_a_pod;
  of_a_pod.set("master_addr", "environment PET_MASTER_ADDR");
  CHECK(membership({}, two_machines(), 0, of_a_pod).by_scheduler);
}

TEST_CASE("an address of IPv6 may stand in brackets, as torchrun has it") {
  LaunchArguments launch = two_machines();
  launch.master_addr = "[fd00::6]";
  CHECK(membership({}, launch).master_host == "fd00::6");
  launch.master_addr = "[]";
  CHECK(membership({}, launch).master_host == "[]");  // no host, and not this machine either
  const std::map<std::string, std::string> plain = {{"RANK", "1"},
                                                    {"WORLD_SIZE", "2"},
                                                    {"LOCAL_RANK", "0"},
                                                    {"LOCAL_WORLD_SIZE", "1"},
                                                    {"MASTER_PORT", "29500"},
                                                    {"MASTER_ADDR", "[::1]"}};
  CHECK(membership(plain, {}).master_host == "::1");
}

TEST_CASE("L6 and L9: several machines need a master and a number") {
  LaunchArguments launch = two_machines();
  launch.master_addr = "127.0.0.1";
  CHECK(contains(refusal({}, launch), "several machines need to know machine 0\n  where: --nnodes"));
  CHECK_FALSE(contains(refusal({}, launch), "--node_rank 0"));
  launch.node_rank = 0;
  CHECK(contains(refusal({}, launch), "neither master_addr nor node_rank was given"));
  CHECK(contains(refusal({}, launch), "--node_rank 0 on the machine of master_addr, 1 to 1 on the others"));
  launch.node_rank = 1;
  Origins loopback;
  loopback.set("master_addr", "--master_addr");
  CHECK(membership({}, launch, 0, loopback).master_host ==
        "127.0.0.1");  // said so: two agents of one machine
  launch = two_machines();
  launch.node_rank = 0;
  Origins file;
  file.set("nnodes", "run.yaml:3:9");
  CHECK(contains(refusal({}, launch, 0, file),
                 "this machine does not know its number\n  where: nnodes (run.yaml:3:9)"));
  file.set("node_rank", "environment PET_NODE_RANK");
  CHECK(membership({}, launch, 0, file).leads());
}

TEST_CASE("torchrun gives the rank, and its agent's store is the meeting") {
  const Membership rank = membership(kTorchrun, {}, 8);
  CHECK(is(rank.assigned, 3, 1, 4, 2));
  CHECK(rank.agents == 4);
  CHECK(rank.agent == 3);
  CHECK(rank.started_by == "torchrun");
  CHECK(rank.by_scheduler);
  CHECK(rank.meeting == Meeting::kAgentStore);
  CHECK(rank.master_host == "node0");
  CHECK(rank.master_port == 29500);
  CHECK(contains(describe(rank), "started by torchrun as rank 3 of 4 (RANK=3, WORLD_SIZE=4"));
  const Variables by_hand =
      without(without(kTorchrun, "TORCHELASTIC_RUN_ID"), "TORCHELASTIC_USE_AGENT_STORE");
  CHECK(membership(by_hand).meeting == Meeting::kFixedAddress);
  CHECK(membership(by_hand).started_by == "the environment");
  // One rank per machine is still a rank, also with several GPUs.
  CHECK(is(membership(with(kTorchrun, {{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}}), {}, 8).assigned, 3,
           0, 4, 1));
  CHECK(is(membership({{"RANK", "0"},
                       {"WORLD_SIZE", "1"},
                       {"LOCAL_RANK", "0"},
                       {"LOCAL_WORLD_SIZE", "1"},
                       {"MASTER_ADDR", "a"},
                       {"MASTER_PORT", "1"}},
                      {}, 8)
               .assigned,
           0, 0, 1, 1));
}

TEST_CASE("half a set of variables that names no job is named and not used") {
  const Membership half = membership(without(kTorchrun, "WORLD_SIZE"));
  CHECK(half.agents == 1);
  CHECK_FALSE(half.assigned);
  REQUIRE(half.notices.size() == 1);
  CHECK(half.notices[0].starts_with("warning: "));
  CHECK(contains(half.notices[0], "RANK=3"));
  CHECK(contains(half.notices[0], "is not used: WORLD_SIZE is missing"));
  const Membership stale = membership({{"RANK", "5"}, {"WORLD_SIZE", "8"}});
  CHECK(stale.agents == 1);
  CHECK(contains(stale.notices.at(0),
                 "RANK=5, WORLD_SIZE=8 of the environment is not used: LOCAL_RANK, LOCAL_WORLD_SIZE, "
                 "MASTER_ADDR, MASTER_PORT are missing"));
  CHECK(contains(membership({{"OMPI_COMM_WORLD_RANK", "0"}}).notices.at(0), "OMPI_COMM_WORLD_SIZE"));
  CHECK(membership({{"LOCAL_RANK", "-1"}}).notices.empty());  // "none", in older scripts
  // Flags do not care about it.
  CHECK(membership({{"RANK", "5"}}, two_machines()).agents == 2);
}

TEST_CASE("rank, world size and master make a rank, also where nobody tells its place on the machine") {
  const Variables told_little = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
  const Membership second = membership(told_little, {}, 8);
  CHECK(second.agents == 2);
  CHECK(second.agent == 1);
  CHECK(is(second.assigned, 1, -1, 2, 0));
  CHECK(second.meeting == Meeting::kFixedAddress);
  CHECK(second.master_host == "node0");
  CHECK(second.master_port == 29500);
  CHECK(second.notices.empty());
  CHECK(contains(describe(second), "started by the environment as rank 1 of 2 (RANK=1, WORLD_SIZE=2, "));
  CHECK(is(membership(with(told_little, {{"LOCAL_RANK", "1"}})).assigned, 1, 1, 2, 0));
  CHECK(is(membership(with(told_little, {{"LOCAL_WORLD_SIZE", "2"}})).assigned, 1, -1, 2, 2));
  // A launcher that has started one process (a loop of `srun -n 1`) is no launcher; one of several is.
  CHECK(is(membership(with(open_mpi(0, 1, 0, 1), told_little)).assigned, 1, -1, 2, 0));
  CHECK(membership(with(open_mpi(0, 4, 0, 4), told_little)).started_by == "mpirun");
  // Several ranks are asked for: one process per machine.
  LaunchArguments eight;
  eight.nproc_per_node = "8";
  CHECK_FALSE(membership(told_little, eight, 8).assigned);
  CHECK(membership(told_little, eight, 8).agents == 2);
  // Flags that name machines win, as Kubeflow gives both.
  CHECK(membership(told_little, two_machines()).started_by == "--nnodes");
  LaunchArguments standalone;
  standalone.standalone = true;
  CHECK(membership(told_little, standalone).agents == 1);
}

TEST_CASE("the first process of a launcher on a machine speaks for the others before they meet") {
  CHECK(speaks_first(Environment(Variables{{"HOME", "/root"}})));
  CHECK_FALSE(speaks_first(Environment(kTorchrun)));
  CHECK(speaks_first(Environment(with(kTorchrun, {{"LOCAL_RANK", "0"}}))));
  CHECK_FALSE(speaks_first(Environment(open_mpi(1, 2, 1, 2))));
  CHECK(speaks_first(Environment(open_mpi(1, 2, 0, 1))));
  CHECK(speaks_first(Environment(with(kTorchrun, {{"RANK", "three"}}))));
  CHECK(speaks_first(Environment(
      Variables{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}})));
}

TEST_CASE("a process of several that cannot find the others is refused, not trained alone") {
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    INFO(name);
    const std::string text = refusal(without(kTorchrun, name));
    CHECK(contains(text, "this process is one of several and does not know where the first one is"));
    CHECK(contains(text, std::string("why: ") + name + " is missing"));
    CHECK(contains(text, "--standalone"));
  }
  LaunchArguments address;
  address.master_addr = "node1";
  address.master_port = 800;
  const Membership told = membership(without(kTorchrun, "MASTER_ADDR"), address);
  CHECK(told.master_host == "node1");
  CHECK(is(told.assigned, 3, 1, 4, 2));
  CHECK(contains(refusal({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}), "it is not in 0 to 1"));
}

TEST_CASE("numbers of the environment that are none are refused by name") {
  CHECK(contains(refusal(with(kTorchrun, {{"RANK", "three"}})),
                 "RANK=three of the environment is not usable\n  where: environment RANK\n  why: it is not a "
                 "whole number"));
  CHECK(contains(refusal(with(kTorchrun, {{"RANK", "4"}})), "it is not in 0 to 3"));
  CHECK(contains(refusal(with(kTorchrun, {{"LOCAL_RANK", "2"}})), "LOCAL_RANK=2"));
  CHECK(contains(refusal(with(kTorchrun, {{"MASTER_PORT", "0"}})), "MASTER_PORT=0"));
  CHECK(
      contains(refusal(with(open_mpi(0, 2, 0, 2), {{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}})), "not in 1 to 2"));
}

TEST_CASE("variables of one process among several without its rank are named in a warning") {
  const auto said = [](const Variables& variables) {
    const auto notices = membership(variables).notices;
    return notices.empty() ? "" : notices.front();
  };
  CHECK(
      contains(said({{"WORLD_SIZE", "2"}}), "WORLD_SIZE=2 of the environment is not used: RANK, LOCAL_RANK"));
  CHECK(
      contains(said({{"LOCAL_RANK", "1"}}), "LOCAL_RANK=1 of the environment is not used: RANK, WORLD_SIZE"));
  CHECK(said({{"WORLD_SIZE", "1"}}).empty());
  CHECK(said({{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"}}).empty());
}

TEST_CASE("the flag --local_rank of old launchers stands for LOCAL_RANK, which wins") {
  LaunchArguments launch;
  launch.local_rank = 0;
  CHECK(is(membership(without(kTorchrun, "LOCAL_RANK"), launch).assigned, 3, 0, 4, 2));
  CHECK(is(membership(kTorchrun, launch).assigned, 3, 1, 4, 2));
  CHECK(contains(membership({}, launch).notices.at(0), "--local_rank 0 is not used"));
}

TEST_CASE("an address of this machine that nobody asks for is told") {
  LaunchArguments launch;
  launch.local_addr = "10.0.0.6";
  launch.rdzv_conf = "secret_file=absent";
  REQUIRE(membership({}, launch).notices.size() == 2);
  CHECK(contains(membership({}, launch).notices[0], "--local_addr 10.0.0.6 is not used"));
  CHECK(contains(membership({}, launch).notices[1], "--rdzv_conf secret_file=absent is not used"));
  launch.rdzv_conf = "join_timeout=60";
  CHECK(contains(membership({}, launch).notices.at(1), "--rdzv_conf join_timeout=60 is not used"));
  launch.rdzv_conf = "last_call_timeout=3";  // told wherever it stands
  CHECK(membership({}, launch).notices.size() == 1);
  LaunchArguments two = two_machines();
  two.local_addr = "10.0.0.6";
  two.rdzv_conf = "join_timeout=60";
  CHECK(membership({}, two).notices.empty());
}

TEST_CASE("where machines would meet is told to have no use on one") {
  const auto notices = [](const char* origin, const std::string& host, const std::string& job = "none") {
    LaunchArguments launch;
    launch.master_addr = host;
    launch.rdzv_id = job;
    Origins origins;
    origins.set("master_addr", origin);
    origins.set("rdzv_endpoint", "--rdzv_endpoint");
    return join(membership({}, launch, 0, origins).notices, "\n");
  };
  CHECK(notices("--master_addr", "10.1.1.1") ==
        "--master_addr 10.1.1.1 is not used: no other machine takes part");
  CHECK(contains(notices("--rdzv_endpoint", "10.1.1.1"), "--rdzv_endpoint 10.1.1.1 is not used"));
  CHECK(contains(notices("--master_addr", "127.0.0.1", "mine"), "--rdzv_id mine is not used"));
  for (const char* loopback : {"127.0.0.1", "localhost", "::1"})
    CHECK(notices("--master_addr", loopback).empty());
}

TEST_CASE("mpirun with several processes per machine gives ranks") {
  const Membership rank = membership(open_mpi(1, 2, 1, 2), {}, 4);
  CHECK(is(rank.assigned, 1, 1, 2, 2));
  CHECK(rank.started_by == "mpirun");
  CHECK(rank.meeting == Meeting::kPmix);
  CHECK(rank.master_host.empty());
  // Three processes on two machines: the one that is alone on its machine is a rank like the others.
  CHECK(membership(with(open_mpi(2, 3, 0, 1), {{"OMPI_MCA_orte_num_nodes", "2"}}), {}, 8).assigned);
}

TEST_CASE("mpirun with one process per machine spawns what the machine has") {
  const Variables second = with(open_mpi(1, 2, 0, 1), {{"OMPI_MCA_orte_num_nodes", "2"}});
  CHECK(is(membership(second).assigned, 1, 0, 2, 1));
  CHECK(is(membership(second, {}, 1).assigned, 1, 0, 2, 1));
  const Membership machine = membership(second, {}, 8);
  CHECK_FALSE(machine.assigned);
  CHECK(machine.agents == 2);
  CHECK(machine.agent == 1);
  CHECK(machine.meeting == Meeting::kPmix);
  CHECK(contains(describe(machine), "started by mpirun as machine 1 of 2"));
  for (const char* ranks : {"4", "auto", "cpu"}) {
    LaunchArguments launch;
    launch.nproc_per_node = ranks;
    CHECK_FALSE(membership(second, launch).assigned);
  }
  LaunchArguments on_cpu;  // --cpu_ranks has no say where there are GPUs
  on_cpu.cpu_ranks = 2;
  CHECK_FALSE(membership(second, on_cpu).assigned);
  CHECK(membership(second, on_cpu, 1).assigned);
  LaunchArguments one;
  one.nproc_per_node = "1";
  CHECK(membership(second, one, 8).assigned);
}

TEST_CASE("mpirun -n 1 is a run of this machine") {
  const Membership alone = membership(open_mpi(0, 1, 0, 1), {}, 8);
  CHECK(alone.agents == 1);
  CHECK_FALSE(alone.assigned);
  CHECK(alone.meeting == Meeting::kNone);
  CHECK(membership(open_mpi(0, 1, 0, 1), two_machines()).agents == 2);
}

TEST_CASE("the order of the variables is that of the contract") {
  CHECK(membership(with(open_mpi(0, 2, 0, 2), kTorchrun)).started_by == "torchrun");
  CHECK(membership(with(kStep, open_mpi(0, 2, 0, 2))).started_by == "mpirun");
  const Variables hydra = {
      {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
  CHECK(is(membership(with(open_mpi(0, 2, 0, 2), with(hydra, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "5"}})))
               .assigned,
           1, 1, 4, 2));
  CHECK(membership(with(kStep, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}})).started_by == "srun");
}

TEST_CASE("a rank that is alone by left-over variables is refused under a launcher of several") {
  const Variables stale = {{"RANK", "0"},        {"WORLD_SIZE", "1"},
                           {"LOCAL_RANK", "0"},  {"LOCAL_WORLD_SIZE", "1"},
                           {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  const std::string text = refusal(with(open_mpi(1, 2, 1, 2), stale));
  CHECK(contains(text, "RANK and WORLD_SIZE deny what mpirun says"));
  CHECK(contains(text, "where: environment RANK=0, WORLD_SIZE=1, "));
  CHECK(contains(text, "OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2"));
  CHECK(contains(text, "unset RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE, or --standalone"));
  CHECK(contains(refusal(with(kStep, stale)), "RANK and WORLD_SIZE deny what srun says"));
  LaunchArguments standalone;
  standalone.standalone = true;
  CHECK(membership(with(kStep, stale), standalone).agents == 1);
  // One process of mpirun, an allocation without a step, a launcher inside of a step: nothing to deny.
  for (const Variables& outer :
       {open_mpi(0, 1, 0, 1), kAllocation,
        with(kStep, {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}),
        with(kStep, {{"TORCHELASTIC_RUN_ID", "none"}}), with(kStep, {{"CROSS_RANK", "0"}})}) {
    CHECK(is(membership(with(outer, stale)).assigned, 0, 0, 1, 1));
  }
}

TEST_CASE("other MPIs need an address") {
  const Variables mvapich = {{"MV2_COMM_WORLD_RANK", "1"},
                             {"MV2_COMM_WORLD_SIZE", "2"},
                             {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
                             {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(contains(refusal(mvapich), "the processes of this mpirun do not know where the first one is"));
  const Membership told = membership(with(mvapich, {{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "700"}}));
  CHECK(told.meeting == Meeting::kFixedAddress);
  CHECK(told.master_host == "node0");
  CHECK(told.master_port == 700);
  LaunchArguments launch;
  launch.master_addr = "node1";
  launch.master_port = 800;
  CHECK(membership(mvapich, launch).master_host == "node1");
  CHECK(membership(open_mpi(0, 2, 0, 2), launch).meeting == Meeting::kFixedAddress);
  launch.master_port = 29500;
  CHECK(membership(open_mpi(0, 2, 0, 2), launch).meeting == Meeting::kPmix);
  CHECK(contains(membership(open_mpi(0, 2, 0, 2), launch).notices.at(0),
                 "--master_addr is not used under mpirun without master_port"));
}

TEST_CASE("flags that contradict the launcher are refused with both origins") {
  Origins origins;
  origins.set("nnodes", "--nnodes");
  const std::string text = refusal(open_mpi(0, 4, 0, 4), two_machines(), 0, origins);
  CHECK(contains(text,
                 "nnodes and mpirun say two different things\n  where: --nnodes (command line); "
                 "environment OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=4"));
  CHECK(contains(text, "why: nnodes is 2, and mpirun uses 1 machine (4 processes, 4 on this one)"));
  LaunchArguments launch;
  launch.nnodes = "2";
  CHECK(membership(open_mpi(0, 4, 0, 2), launch).assigned);  // they agree
  CHECK(contains(refusal(kTorchrun,
                         [] {
                           LaunchArguments three;
                           three.nnodes = "3";
                           return three;
                         }()),
                 "nnodes and torchrun say two different things"));
  launch.node_rank = 1;
  CHECK(contains(refusal(open_mpi(0, 2, 0, 1), launch), "node_rank and mpirun say two different things"));
  CHECK(membership(open_mpi(1, 2, 0, 1), launch).agent == 1);
  LaunchArguments ranks;
  ranks.nproc_per_node = "2";
  CHECK(contains(refusal(open_mpi(0, 4, 0, 4), ranks),
                 "why: nproc_per_node is 2, and mpirun has started 4 processes on this machine"));
  ranks.nproc_per_node = "4";
  CHECK(membership(open_mpi(0, 4, 0, 4), ranks).assigned);
  ranks.nproc_per_node = "gpu";
  CHECK(membership(open_mpi(0, 4, 0, 4), ranks).assigned);
}

TEST_CASE("the flag --standalone does not look at the environment") {
  LaunchArguments launch;
  launch.standalone = true;
  for (const Variables& variables : {kTorchrun, kStep, open_mpi(0, 4, 0, 4), Variables{{"RANK", "x"}}}) {
    const Membership alone = membership(variables, launch);
    CHECK(alone.agents == 1);
    CHECK(alone.notices.empty());
  }
}

TEST_CASE("a step of srun meets on its first machine at a port of its own") {
  const Membership second = membership(kStep, {}, 8);
  CHECK(second.started_by == "srun");
  CHECK_FALSE(second.assigned);
  CHECK(second.agents == 2);
  CHECK(second.agent == 1);
  CHECK(second.meeting == Meeting::kFixedAddress);
  CHECK(second.master_host == "gpu03");
  CHECK(second.master_port == port_of_step(4711, 2));
  CHECK(contains(second.notices.at(0), "the machines meet at gpu03:" + std::to_string(second.master_port)));
  const Membership told = membership(with(kStep, {{"MASTER_ADDR", "gpu03-ib"}, {"MASTER_PORT", "6000"}}));
  CHECK(told.master_host == "gpu03-ib");
  CHECK(told.master_port == 6000);
  CHECK(told.notices.empty());
  CHECK(is(told.assigned, 1, 0, 2, 1));
}

TEST_CASE("a step with several tasks per machine gives ranks") {
  const Variables fifth = with(kStep, {{"SLURM_PROCID", "5"},
                                       {"SLURM_LOCALID", "1"},
                                       {"SLURM_STEP_NUM_TASKS", "7"},
                                       {"SLURM_STEP_TASKS_PER_NODE", "4,3"}});
  CHECK(is(membership(fifth, {}, 4).assigned, 5, 1, 7, 3));
  // Uneven: a machine with one task is no machine of one agent.
  const Variables last = with(
      kStep, {{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "2,1"}});
  CHECK(is(membership(last, {}, 4).assigned, 2, 0, 3, 1));
  CHECK(is(membership(with(without(fifth, "SLURM_PROCID"), {{"PMIX_RANK", "5"}})).assigned, 5, 1, 7, 3));
  CHECK(contains(refusal(with(kStep, {{"SLURM_STEP_TASKS_PER_NODE", "two"}})),
                 "SLURM_STEP_TASKS_PER_NODE=two"));
  CHECK(
      contains(refusal(with(kStep, {{"SLURM_STEP_NODELIST", "gpu[3-1]"}})), "SLURM_STEP_NODELIST=gpu[3-1]"));
}

TEST_CASE("the variables of an allocation alone do not make a rank") {
  const Membership shell = membership(kAllocation, {}, 8);
  CHECK(shell.agents == 1);
  CHECK_FALSE(shell.assigned);
  CHECK(
      contains(shell.notices.at(0),
               "inside Slurm job 4711, but not started by srun: this run uses this machine alone, one of its "
               "2 machines; `srun --ntasks-per-node 1 hftrain"));
  // The batch script is process 0 of nothing.
  const Variables script =
      with(kAllocation, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "0"}});
  CHECK(membership(script).agents == 1);
  // An interactive step has a number that is none, and the shell of `srun --pty` is a step of one task.
  const Variables interactive =
      with(kStep, {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}, {"SLURM_NODEID", "0"}});
  CHECK(membership(interactive).agents == 1);
  const Variables pty = with(kStep, {{"SLURM_STEP_NUM_TASKS", "1"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_NODEID", "0"},
                                     {"SLURM_STEP_TASKS_PER_NODE", "1"}});
  CHECK(membership(pty, {}, 8).agents == 1);
  CHECK_FALSE(membership(pty, {}, 8).assigned);
  CHECK(membership(kAllocation, two_machines()).agents == 2);
}

TEST_CASE("lists of machines as Slurm writes them") {
  using List = std::vector<std::string>;
  CHECK(expand_node_list("gpu7") == List{"gpu7"});
  CHECK(expand_node_list("gpu[1-3]") == List{"gpu1", "gpu2", "gpu3"});
  CHECK(expand_node_list("gpu[08-10,3],login,a[1-2]b[7]c") ==
        List{"gpu08", "gpu09", "gpu10", "gpu3", "login", "a1b7c", "a2b7c"});
  // Few letters that stand for more than there can be.
  std::string many = "a[0-999999";
  for (int i = 0; i < 100'000; ++i) many += ",0-999999";
  CHECK(expand_node_list(many + "]").empty());
  std::string deep = "a";
  for (int i = 0; i < 100'000; ++i) deep += "[1]";
  CHECK(expand_node_list(deep).empty());
  // Names of machines are short: these would be gigabytes of letters.
  CHECK(expand_node_list(std::string(5000, 'n') + "[1-99999]").empty());
  CHECK(expand_node_list("n[" + std::string(5000, '0') + "1-99999]").empty());
  CHECK(expand_node_list(std::string(255, 'n')).size() == 1);
  CHECK(expand_node_list("gpu[1-99999]").size() == 99'999);
  CHECK(expand_node_list("gpu[1-100001]").empty());
  CHECK(expand_node_list("r[1-2]n[1-2]") == List{"r1n1", "r1n2", "r2n1", "r2n2"});
  for (const char* broken :
       {"", "gpu[1-3", "gpu1-3]", "gpu[3-1]", "gpu[a]", "gpu[]", "a,,b", "a[[1]]", "a[0-99999999]"}) {
    INFO(broken);
    CHECK(expand_node_list(broken).empty());
  }
}

TEST_CASE("tasks per machine as Slurm writes them") {
  CHECK(expand_tasks_per_node("4(x2),3") == std::vector<int>{4, 4, 3});
  CHECK(expand_tasks_per_node("1") == std::vector<int>{1});
  for (const char* broken : {"", "x", "4(x", "4(x2", "4(y2)", "4,", "-1"}) {
    INFO(broken);
    CHECK(expand_tasks_per_node(broken).empty());
  }
}

TEST_CASE("ports of steps are spread below the kernel's range") {
  for (int64_t job = 0; job < 30000; job += 7) {
    const int port = port_of_step(job, job % 5);
    CHECK((port >= 20000 && port < 30000));
  }
  for (const int64_t most = std::numeric_limits<int64_t>::max();
       const int64_t step : {int64_t{0}, int64_t{7}, most}) {
    INFO(step);
    CHECK((port_of_step(most, step) >= 20000 && port_of_step(most, step) < 30000));
  }
  CHECK(port_of_step(4711, 0) != port_of_step(4711, 1));
  CHECK(port_of_step(4711, 0) != port_of_step(4712, 0));
}

}  // namespace hftrain::launcher
