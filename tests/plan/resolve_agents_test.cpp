// One plan over the machines of a job.
#include "hftrain/plan/rank_memory.h"
#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

AgentFacts agent(int number, const std::string& machine, Topology topology = plan::machine(0)) {
  AgentFacts facts;
  facts.agent = number;
  facts.host = machine;
  facts.machine = machine;
  facts.topology = std::move(topology);
  for (int core = 0; core < facts.topology.host.allowed_cores; ++core) facts.cores.push_back(core);
  return facts;
}

AgentFacts assigned(int rank, int local_rank, const std::string& machine, int world,
                    std::vector<int> cores = {}) {
  AgentFacts facts = agent(rank, machine);
  facts.assigned = AssignedRank{rank, local_rank, world, 2};
  if (!cores.empty()) {
    facts.topology.host.allowed_cores = static_cast<int>(cores.size());
    facts.cores = std::move(cores);
  }
  return facts;
}

Case job(std::vector<AgentFacts> agents, std::vector<std::string> flags = {}) {
  Case run(std::move(flags), agents.front().topology);
  run.agents = std::move(agents);
  return run;
}

template <typename Member>
std::vector<Member> column(const RanksPlan& ranks, Member RankPlan::*member) {
  std::vector<Member> values;
  for (const RankPlan& rank : ranks.ranks) values.push_back(rank.*member);
  return values;
}

using Ints = std::vector<int>;

}  // namespace

TEST_CASE("two machines with two ranks each: ranks in the order of the agents, local ranks, nodes, gloo") {
  AgentFacts a = agent(0, "a"), b = agent(1, "b");
  a.nproc_per_node = b.nproc_per_node = "2";
  const RanksPlan ranks = job({a, b}).plan().ranks;
  CHECK(ranks.world_size == 4);
  CHECK(ranks.nodes == 2);
  CHECK(ranks.local_world_size == 2);
  CHECK(ranks.backend == "gloo");
  CHECK(column(ranks, &RankPlan::rank) == Ints{0, 1, 2, 3});
  CHECK(column(ranks, &RankPlan::agent) == Ints{0, 0, 1, 1});
  CHECK(column(ranks, &RankPlan::node) == Ints{0, 0, 1, 1});
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 1, 0, 1});
  CHECK(column(ranks, &RankPlan::threads) == Ints{4, 4, 4, 4});
}

TEST_CASE("machines need not have the same number of ranks") {
  const RanksPlan ranks = job({agent(0, "a", machine(3)), agent(1, "b", machine(1))}).plan().ranks;
  CHECK(ranks.backend == "nccl");
  CHECK(column(ranks, &RankPlan::node) == Ints{0, 0, 0, 1});
  CHECK(column(ranks, &RankPlan::ordinal) == Ints{0, 1, 2, 0});
  CHECK(column(ranks, &RankPlan::local_world_size) == Ints{3, 3, 3, 1});
  CHECK(ranks.local_world_size == 3);
}

TEST_CASE("several agents on one machine are one node, with shared memory and shared cores") {
  const RanksPlan ranks = job({assigned(0, 0, "a", 2), assigned(1, 1, "a", 2)}).plan().ranks;
  CHECK(ranks.nodes == 1);
  CHECK(ranks.backend == "shm");
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 1});
  CHECK(column(ranks, &RankPlan::threads) == Ints{4, 4});
}

TEST_CASE("agents of one machine that save into folders of their own are nodes, on the same cores") {
  AgentFacts a = agent(0, "a"), b = agent(1, "a"), c = agent(2, "a");
  a.output_folder = c.output_folder = "/one";
  b.output_folder = "/two";
  const RanksPlan ranks = job({a, b, c}, {"--save_on_each_node"}).plan().ranks;
  CHECK(ranks.nodes == 2);
  CHECK(column(ranks, &RankPlan::node) == Ints{0, 1, 0});
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 0, 1});
  CHECK(column(ranks, &RankPlan::threads) ==
        column(job({agent(0, "a"), agent(1, "a"), agent(2, "a")}).plan().ranks, &RankPlan::threads));
  Json json = b;
  CHECK(json.get<AgentFacts>().output_folder == "/two");
}

TEST_CASE("nodes of one machine share its memory, its cores and its loopback address") {
  std::vector<AgentFacts> agents = {agent(0, "a"), agent(1, "a"), agent(2, "b")};
  agents[1].output_folder = "/two";
  const RanksPlan several = job(agents, {"--save_on_each_node"}).plan().ranks;
  CHECK(column(several, &RankPlan::local_world_size) == Ints{1, 1, 1});
  CHECK(column(several, &RankPlan::ranks_on_machine) == Ints{2, 2, 1});
  CHECK(several.ranks_on_machine == 2);
  CHECK(several.machines == 2);
  CHECK(several.backend == "gloo");

  agents.pop_back();
  Case run = job(agents, {"--save_on_each_node"});
  const RunPlan plan = run.plan();
  CHECK(plan.ranks.machines == 1);
  CHECK(plan.ranks.backend == "shm");
  agents[1].output_folder = agents[0].output_folder;
  CHECK(expected_memory(plan).machine == expected_memory(job(agents).plan()).machine);

  const MemoryPlan& memory = plan.memory_per_rank;
  run.topology.host.memory_bytes =
      2 * (kProgramBytes + memory.parameters + memory.gradients + memory.optimizer);
  CHECK(run.plan().ranks.world_size == 2);
  --run.topology.host.memory_bytes;
  CHECK(run.error().code() == ExitCode::kHostMemory);
}

TEST_CASE("ranks that are bound to cores of their own keep them") {
  const RanksPlan ranks = job({assigned(0, 0, "a", 2, {0, 1, 2}), assigned(1, 1, "a", 2, {3})}).plan().ranks;
  CHECK(column(ranks, &RankPlan::threads) == Ints{3, 1});
  const RanksPlan overlapping =
      job({assigned(0, 0, "a", 2, {0, 1, 2}), assigned(1, 1, "a", 2, {2})}).plan().ranks;
  CHECK(column(overlapping, &RankPlan::threads) == Ints{2, 1});
}

TEST_CASE("ranks that were bound to fewer cores are told, and those that share one while others are idle") {
  const auto notes = [](std::vector<std::vector<int>> cores, int of) {
    std::vector<AgentFacts> agents;
    for (size_t rank = 0; rank < cores.size(); ++rank) {
      const int number = static_cast<int>(rank);
      agents.push_back(assigned(number, number, "a", static_cast<int>(cores.size()), cores[rank]));
      agents.back().assigned->local_world_size = static_cast<int>(cores.size());
      agents.back().topology.host.machine_cores = of;
    }
    return job(agents).notes();
  };
  const std::string own = notes({{0}, {1}}, 4);
  CHECK(own.find("ranks 0, 1: 1 of 4 cores, 1 thread each") != std::string::npos);
  CHECK(own.find("share core") == std::string::npos);
  const std::string same = notes({{0}, {0}}, 4);
  CHECK(same.find("ranks 0, 1 share core 0, and 3 cores of the machine have no rank") != std::string::npos);
  CHECK(same.find("--bind-to none") != std::string::npos);
  const std::string different = notes({{0, 1}, {2}}, 3);
  CHECK(different.find("rank 0: 2 of 3 cores, 2 threads") != std::string::npos);
  CHECK(different.find("rank 1: 1 of 3 cores, 1 thread") != std::string::npos);
  CHECK(notes({{0, 1}, {0, 1}}, 2).find(" of 2 cores") == std::string::npos);
}

TEST_CASE("a front program alone on a part of the cores says so") {
  Case bound({"--nproc_per_node", "2"});
  bound.topology.host.machine_cores = 64;
  CHECK(bound.notes().find("ranks 0, 1: 8 of 64 cores, 4 threads each") != std::string::npos);
  CHECK(bound.notes().find("bound by what started them") != std::string::npos);
  Case named({"--nproc_per_node", "2", "--bind_core_list", "0-7"});
  named.topology.host.machine_cores = 64;
  CHECK(named.notes().find("ranks 0, 1: 8 of 64 cores, 4 threads each") != std::string::npos);
  CHECK(named.notes().find("--bind_core_list (command line) names the cores of the run") !=
        std::string::npos);
  CHECK(named.notes().find("bound by what started them") == std::string::npos);
}

TEST_CASE("given ranks keep their numbers where machines take turns") {
  const RanksPlan ranks =
      job({assigned(0, 0, "a", 4), assigned(1, 0, "b", 4), assigned(2, 1, "a", 4), assigned(3, 1, "b", 4)})
          .plan()
          .ranks;
  CHECK(column(ranks, &RankPlan::node) == Ints{0, 1, 0, 1});
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 0, 1, 1});
  CHECK(ranks.backend == "gloo");
}

TEST_CASE("ranks that mpirun started join through MPI across machines, through shared memory on one") {
  std::vector<AgentFacts> agents = {assigned(0, 0, "a", 2), assigned(1, 0, "b", 2)};
  for (AgentFacts& facts : agents) facts.joins_mpi = true;
  CHECK(job(agents).plan().ranks.backend == "mpi");
  CHECK(job(agents, {"--ddp_backend", "gloo"}).plan().ranks.backend == "gloo");
  CHECK(job(agents, {"--max_restarts", "1"}).plan().ranks.backend == "gloo");
  agents[1].machine = "a";
  agents[1].assigned->local_rank = 1;
  CHECK(job(agents).plan().ranks.backend == "shm");
  Case asked = job(agents);
  asked.parsed.arguments.parallel.ddp_backend = "mpi";
  CHECK(asked.plan().ranks.backend == "mpi");
  asked.agents[1].joins_mpi = false;
  CHECK(contains(asked.error().render(), "one process per rank"));
  CHECK(contains(asked.error().render(), "ddp_backend mpi does not work with these ranks"));
}

TEST_CASE("shared memory does not join containers of one machine, which share its cores") {
  std::vector<AgentFacts> agents = {agent(0, "a"), agent(1, "a")};
  CHECK(job(agents).plan().ranks.backend == "shm");
  agents[1].processes = "pid:[2]";
  const RanksPlan ranks = job(agents).plan().ranks;
  CHECK(ranks.backend == "gloo");
  CHECK(ranks.machines == 1);
  CHECK(contains(job(agents, {"--ddp_backend", "shm"}).error().render(), "in one container"));
}

TEST_CASE("shared memory does not join machines") {
  const Error error = job({agent(0, "a"), agent(1, "b")}, {"--ddp_backend", "shm"}).error();
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "it joins ranks of one machine only"));
}

TEST_CASE("a node without a GPU among nodes with GPUs is named") {
  const Error error = job({agent(0, "a", machine(2)), agent(1, "b")}).error();
  CHECK(error.code() == ExitCode::kEnvironment);
  CHECK(contains(error.render(), "node 1 (b)"));
  CHECK(contains(error.render(), "node 0 (a) has 2"));
  CHECK(job({agent(0, "a", machine(2)), agent(1, "b")}, {"--use_cpu"}).plan().ranks.world_size == 2);
}

TEST_CASE("two agents on one machine must not take the same GPU") {
  const Error error = job({agent(0, "a", machine(1)), agent(1, "a", machine(1))}).error();
  CHECK(error.code() == ExitCode::kUsage);
  CHECK(contains(error.render(), "ranks 0 and 1 would share one GPU"));
  Topology second = machine(1);
  second.visible.devices[0].device.uuid = "GPU-other";
  CHECK(job({agent(0, "a", machine(1)), agent(1, "a", second)}).plan().ranks.world_size == 2);
}

TEST_CASE("two nodes of one machine must not take the same GPU") {
  AgentFacts a = agent(0, "a", machine(1)), b = agent(1, "a", machine(1));
  a.output_folder = "/one";
  b.output_folder = "/two";
  CHECK(contains(job({a, b}, {"--save_on_each_node"}).error().render(), "ranks 0 and 1 would share one GPU"));
}

TEST_CASE("given ranks that were not told their place on the machine find it when they meet") {
  std::vector<AgentFacts> agents = {assigned(0, -1, "a", 3), assigned(1, -1, "b", 3),
                                    assigned(2, -1, "a", 3)};
  for (AgentFacts& facts : agents) {
    facts.assigned->local_world_size = 0;
    facts.topology = machine(2);
  }
  const RanksPlan ranks = job(agents).plan().ranks;
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 0, 1});
  CHECK(column(ranks, &RankPlan::ordinal) == Ints{0, 0, 1});
  CHECK(column(ranks, &RankPlan::local_world_size) == Ints{2, 1, 2});
  CHECK(ranks.nodes == 2);
}

TEST_CASE("a given rank takes the GPU of its local rank, or the only one it is shown") {
  std::vector<AgentFacts> agents = {assigned(0, 0, "a", 2), assigned(1, 1, "a", 2)};
  for (AgentFacts& facts : agents) facts.topology = machine(2);
  CHECK(column(job(agents).plan().ranks, &RankPlan::ordinal) == Ints{0, 1});
  agents[0].topology = machine(2, "0");
  agents[1].topology = machine(2, "1");
  const RanksPlan shown = job(agents).plan().ranks;
  CHECK(column(shown, &RankPlan::ordinal) == Ints{0, 0});
  CHECK(column(shown, &RankPlan::device_uuid) == std::vector<std::string>{"GPU-0", "GPU-1"});
}

TEST_CASE("ranks that do not make one job are refused") {
  for (const auto& agents : {std::vector{assigned(0, 0, "a", 2), assigned(0, 1, "a", 2)},
                             std::vector{assigned(0, 0, "a", 3), assigned(1, 1, "a", 3)},
                             std::vector{assigned(1, 0, "a", 2), assigned(0, 1, "a", 2)},
                             std::vector{assigned(0, 0, "a", 2), agent(1, "b")}}) {
    const Error error = job(agents).error();
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(contains(error.render(), "do not make one job"));
  }
}

TEST_CASE("hybrid strategies shard inside a machine") {
  std::vector<AgentFacts> agents = {agent(0, "a"), agent(1, "b")};
  for (AgentFacts& facts : agents) facts.nproc_per_node = "2";
  const StrategyPlan strategy = job(agents, {"--fsdp", "hybrid_shard auto_wrap"}).plan().strategy;
  CHECK(strategy.mesh_replicate == 2);
  CHECK(strategy.mesh_shard == 2);
}

TEST_CASE("hybrid strategies shard inside what one program starts, where several of them share a machine") {
  AgentFacts here = agent(0, "a"), beside = agent(1, "a");
  here.nproc_per_node = beside.nproc_per_node = "2";
  const std::vector<std::string> hybrid = {"--fsdp", "hybrid_shard auto_wrap"};
  const RunPlan run = job({here, beside}, hybrid).plan(), dry = job(like_this_one(here, 2), hybrid).plan();
  CHECK(run.ranks.nodes == 1);
  CHECK(run.strategy.mesh_replicate == 2);
  CHECK(run.strategy.mesh_shard == 2);
  CHECK(dry.strategy.mesh_replicate == run.strategy.mesh_replicate);
  // Programs that are one rank each say nothing of nodes.
  const RunPlan ranks = job({assigned(0, 0, "a", 2), assigned(1, 1, "a", 2)}, hybrid).plan();
  CHECK(ranks.strategy.mesh_shard == 2);
}

TEST_CASE("a dry run takes the other machines to be like this one") {
  AgentFacts here = agent(0, "a");
  here.nproc_per_node = "2";
  CHECK(job(like_this_one(here, 3)).plan().ranks.nodes == 3);
  CHECK(job(like_this_one(here, 3)).plan().ranks.world_size == 6);
  const RanksPlan ranks = job(like_this_one(assigned(0, 0, "a", 4), 4)).plan().ranks;
  CHECK(column(ranks, &RankPlan::node) == Ints{0, 0, 1, 1});
  CHECK(column(ranks, &RankPlan::local_rank) == Ints{0, 1, 0, 1});
}

TEST_CASE("a dry run under mpirun takes processes that are bound to have cores of their own") {
  const auto dry_run = [](int ranks, std::vector<int> cores, const std::vector<int>& of_starter) {
    AgentFacts here = assigned(0, 0, "a", ranks, std::move(cores));
    here.assigned->local_world_size = ranks;
    here.topology.host.machine_cores = 8;
    Case run = job(like_this_one(here, ranks, of_starter));
    return std::pair(run.notes(), column(run.plan().ranks, &RankPlan::threads));
  };
  const std::vector<int> all = {0, 1, 2, 3};
  for (const auto& cores : {std::vector<int>{0}, std::vector<int>{3}}) {
    const auto [notes, threads] = dry_run(4, cores, all);
    CHECK_FALSE(contains(notes, "share"));
    CHECK(threads == Ints{1, 1, 1, 1});
  }
  CHECK(dry_run(2, {0, 2}, all).second == Ints{2, 2});
  CHECK_FALSE(contains(dry_run(2, {0, 2}, all).first, "share"));
  // Not enough of them, and processes that nobody has bound: they share what they may use.
  CHECK(contains(dry_run(2, {0, 1, 2}, all).first, "share core 0"));
  const auto [notes, threads] = dry_run(4, {0, 1}, {0, 1});
  CHECK(contains(notes, "4 threads share 2 cores"));
  CHECK(threads == Ints{1, 1, 1, 1});
}

TEST_CASE("a deadline beyond all years is one of a hundred") {
  CHECK(Case({"--ddp_timeout", "9223372036854775807"}).plan().ranks.timeout_seconds == 3'153'600'000);
  CHECK(Case({"--ddp_timeout", "180000000"}).plan().ranks.timeout_seconds == 180'000'000);
}

TEST_CASE("where a node keeps its prepared data does not make another plan, other data do") {
  RunPlan here = Case().plan();
  here.data.train->cache_path = "/home/x/cache/abc123/train";
  RunPlan there = here;
  there.data.train->cache_path = "/scratch/abc123/train";
  CHECK(plan_hash(here) == plan_hash(there));
  there.data.train->cache_path = "/scratch/def456/train";
  CHECK(plan_hash(here) != plan_hash(there));
}

}  // namespace hftrain::plan
