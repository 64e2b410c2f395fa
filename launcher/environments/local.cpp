#include "launcher/environments/local.h"

#include "hftrain/base/deterministic_variables.h"

namespace hftrain::launcher {
namespace {

Environment environment_of(const plan::RankPlan& rank, const plan::RanksPlan& ranks,
                           const LocalLaunch& launch) {
  Environment environment = launch.environment;
  environment.set("RANK", std::to_string(rank.rank));
  environment.set("LOCAL_RANK", std::to_string(rank.local_rank));
  environment.set("WORLD_SIZE", std::to_string(ranks.world_size));
  environment.set("LOCAL_WORLD_SIZE", std::to_string(rank.local_world_size));
  environment.set("MASTER_ADDR", launch.master_address);
  environment.set("MASTER_PORT", std::to_string(launch.master_port));
  environment.set("HFTRAIN_ATTEMPT", std::to_string(launch.attempt));
  if (!launch.full_determinism) return environment;
  for (const auto& [name, value] : kDeterministicVariables)
    environment.set(name, environment.get_or(name, value));
  return environment;
}

}  // namespace

std::string device_of(const plan::RankPlan& rank) {
  if (rank.device == plan::DeviceKind::kCpu) return "cpu";
  return "cuda:" + std::to_string(rank.ordinal) + " (" + rank.device_name + ")";
}

std::vector<WorkerSpec> local_workers(const plan::RanksPlan& ranks, const LocalLaunch& launch) {
  std::vector<WorkerSpec> workers;
  for (const plan::RankPlan& rank : ranks.ranks) {
    if (rank.agent != launch.agent) continue;
    WorkerSpec worker;
    worker.rank = rank.rank;
    worker.device = device_of(rank);
    worker.argv = {launch.worker_program, "--plan", launch.plan_path};
    worker.environment = environment_of(rank, ranks, launch);
    worker.serves_store = rank.rank == 0 && ranks.world_size > 1;
    workers.push_back(std::move(worker));
  }
  return workers;
}

}  // namespace hftrain::launcher
