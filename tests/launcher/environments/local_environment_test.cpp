#include "launcher/environments/local.h"

#include "support/catch.h"

namespace hftrain::launcher {

TEST_CASE("each rank of a plan becomes a worker with its variables on top of what is inherited") {
  plan::RanksPlan ranks;
  ranks.world_size = 2;
  ranks.local_world_size = 2;
  ranks.ranks = {{.rank = 0, .local_rank = 0, .local_world_size = 2},
                 {.rank = 1,
                  .local_rank = 1,
                  .device = plan::DeviceKind::kCuda,
                  .ordinal = 1,
                  .device_name = "H200",
                  .local_world_size = 2}};
  const LocalLaunch launch{
      "/opt/hftrain-worker",
      "/out/plan.json",
      Environment(std::map<std::string, std::string>{{"HOME", "/home/x"}, {"RANK", "9"}}),
      "127.0.0.1",
      4711,
      2,
      0};
  const std::vector<WorkerSpec> workers = local_workers(ranks, launch);
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].argv == std::vector<std::string>{"/opt/hftrain-worker", "--plan", "/out/plan.json"});
  CHECK(workers[0].serves_store);
  CHECK_FALSE(workers[1].serves_store);
  CHECK(workers[0].device == "cpu");
  CHECK(workers[1].device == "cuda:1 (H200)");
  CHECK(workers[1].environment.variables() == std::map<std::string, std::string>{{"HOME", "/home/x"},
                                                                                 {"RANK", "1"},
                                                                                 {"LOCAL_RANK", "1"},
                                                                                 {"WORLD_SIZE", "2"},
                                                                                 {"LOCAL_WORLD_SIZE", "2"},
                                                                                 {"MASTER_ADDR", "127.0.0.1"},
                                                                                 {"MASTER_PORT", "4711"},
                                                                                 {"HFTRAIN_ATTEMPT", "2"}});
}

TEST_CASE("libraries of a deterministic run are told so, where nothing else is said") {
  plan::RanksPlan ranks;
  ranks.ranks = {{}};
  LocalLaunch launch;
  launch.environment.set("CUBLAS_WORKSPACE_CONFIG", ":4096:8");
  CHECK_FALSE(local_workers(ranks, launch)[0].environment.get("CUDA_LAUNCH_BLOCKING"));
  launch.full_determinism = true;
  const Environment told = local_workers(ranks, launch)[0].environment;
  CHECK(told.get("CUDA_LAUNCH_BLOCKING") == "1");
  CHECK(told.get("FLASH_ATTENTION_DETERMINISTIC") == "1");
  CHECK(told.get("CUBLAS_WORKSPACE_CONFIG") == ":4096:8");
}

TEST_CASE("a single rank needs no store") {
  plan::RanksPlan ranks;
  ranks.ranks = {{}};
  CHECK_FALSE(local_workers(ranks, {})[0].serves_store);
}

}  // namespace hftrain::launcher
