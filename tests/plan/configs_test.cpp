// Every complete run in configs/ resolves to what its first comment says.
#include <filesystem>

#include "resolve_case.h"
#include "support/catch.h"
#include "support/paths.h"

namespace hftrain::plan {
namespace {

StrategyPlan strategy_of(const std::string& name) {
  const std::string path = testing::source_dir() + "/configs/" + name;
  return Case::of_file(path).plan().strategy;
}

}  // namespace

TEST_CASE(
    "configs/fsdp_full_shard_offload.yaml shards everything, a unit per layer, on the CPU between uses") {
  const StrategyPlan plan = strategy_of("fsdp_full_shard_offload.yaml");
  CHECK(plan.name == "full_shard");
  CHECK(plan.mesh_shard == 2);
  CHECK(plan.units.size() == 6);
  CHECK(plan.offload_parameters == "cpu");
  CHECK(plan.state_dict == "sharded");
}

TEST_CASE("configs/fsdp_version2.yaml shards everything with whole weights in checkpoints") {
  const StrategyPlan plan = strategy_of("fsdp_version2.yaml");
  CHECK(plan.name == "full_shard");
  CHECK(plan.units.size() == 6);
  CHECK(plan.units.front().reshard_after_forward);
  CHECK(plan.state_dict == "full");
}

TEST_CASE("configs/hybrid_shard.yaml has two copies of two parts") {
  const StrategyPlan plan = strategy_of("hybrid_shard.yaml");
  CHECK(plan.name == "hybrid_shard");
  CHECK(plan.mesh_replicate == 2);
  CHECK(plan.mesh_shard == 2);
}

TEST_CASE("configs/sharded_ddp.yaml is ZeRO stage 2") {
  const StrategyPlan plan = strategy_of("sharded_ddp.yaml");
  CHECK(plan.name == "shard_grad_op");
  CHECK(plan.stage == 2);
}

TEST_CASE("configs/quickstart.yaml has two CPU ranks without a GPU, and a rank on every GPU that is there") {
  const std::string path = testing::source_dir() + "/configs/quickstart.yaml";
  const auto ranks = [&path](int gpus) { return Case::of_file(path, machine(gpus)).plan().ranks; };
  CHECK(ranks(0).world_size == 2);
  CHECK(ranks(0).ranks.front().device == DeviceKind::kCpu);
  for (const int gpus : {1, 8}) {
    CHECK(ranks(gpus).world_size == gpus);
    CHECK(ranks(gpus).ranks.back().device == DeviceKind::kCuda);
  }
}

TEST_CASE("configs/cluster/run.yaml says nothing about machines") {
  const Case run = Case::of_file(testing::source_dir() + "/configs/cluster/run.yaml");
  CHECK(run.plan().steps.max_steps == 10000);
  CHECK(run.plan().ranks.world_size == 1);
}

TEST_CASE("every file in configs/ names its flags right and resolves") {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(testing::source_dir() + "/configs")) {
    if (file.path().extension() != ".yaml") continue;
    INFO(file.path().string());
    for (const int gpus : {0, 8})
      CHECK(Case::of_file(file.path().string(), machine(gpus)).plan().steps.max_steps > 0);
    ++count;
  }
  CHECK(count >= 5);
}

}  // namespace hftrain::plan
