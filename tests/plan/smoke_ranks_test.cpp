// What a run of --smoke makes of numbers that were written for more ranks, or for a longer run.
#include "hftrain/plan/smoke_ranks.h"

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

using Words = std::vector<std::string>;

Case check_of(int ranks, Words flags) {
  flags.insert(flags.end(), {"--nproc_per_node", std::to_string(ranks)});
  Case run(flags);
  run.environment.set("HFTRAIN_SMOKE", "1");
  return run;
}

Words with_file(const std::string& keys) {
  return {"--deepspeed", "{\"zero_optimization\": {\"stage\": 2}, " + keys + "}"};
}

Words meshed(const char* strategy, const char* sizes) {
  return {"--fsdp", strategy, "--parallelism_config", sizes};
}

std::string mesh_of(const Case& run) {
  const StrategyPlan strategy = run.plan().strategy;
  return std::to_string(strategy.mesh_replicate) + " x " + std::to_string(strategy.mesh_shard);
}

}  // namespace

TEST_CASE("a smoke run on fewer ranks keeps micro-batches and accumulation, and tells its train_batch_size") {
  const std::string keys =
      R"("train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2)";
  const Case run = check_of(2, with_file(keys));
  const BatchPlan batch = run.plan().batch;
  CHECK(batch.per_device_train == 4);
  CHECK(batch.accumulation_steps == 2);
  CHECK(batch.global_train == 16);
  CHECK(contains(run.notes(), "train_batch_size 64 (--deepspeed (command line)) is 16 here"));
  CHECK(contains(run.notes(), "this check has 2 ranks, with micro-batches of 4, 2 an update"));
  CHECK_FALSE(contains(check_of(8, with_file(keys)).notes(), "is 64 here"));
  Case real = check_of(2, with_file(keys));
  real.environment.unset("HFTRAIN_SMOKE");
  CHECK(contains(real.error().render(), "64 against 4 x 2 x 2 = 16"));
}

TEST_CASE("a smoke run fits a micro-batch that follows from train_batch_size to its ranks") {
  const Case run = check_of(3, with_file(R"("train_batch_size": 64, "gradient_accumulation_steps": 2)"));
  CHECK(run.plan().batch.global_train == 60);
  CHECK(contains(run.notes(), "is 60 here"));
}

TEST_CASE("a smoke run refuses a train_batch_size that no number of ranks makes, or fewer than it has") {
  const auto refused = [](const Words& flags) {
    return contains(check_of(2, flags).error().render(),
                    "train_batch_size is not micro batch x accumulation");
  };
  const std::string micro = R"(, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2)";
  CHECK(refused(with_file(R"("train_batch_size": 63)" + micro)));
  CHECK(refused(with_file(R"("train_batch_size": 8)" + micro)));
  Words split = with_file(R"("train_batch_size": 64)" + micro);
  split.insert(split.end(), {"--accelerator_config", R"({"split_batches": true})"});
  CHECK(refused(split));
}

TEST_CASE("a smoke run's mesh is a smaller one, with groups of both kinds where there are ranks for them") {
  const char* wide = R"({"dp_replicate_size": 2, "dp_shard_size": 8})";
  CHECK(mesh_of(check_of(1, meshed("full_shard", wide))) == "1 x 1");
  CHECK(mesh_of(check_of(2, meshed("full_shard", wide))) == "1 x 2");
  CHECK(mesh_of(check_of(4, meshed("hybrid_shard", wide))) == "2 x 2");
  CHECK(mesh_of(check_of(7, meshed("hybrid_shard", wide))) == "1 x 7");
  CHECK(mesh_of(check_of(8, meshed("hybrid_shard", wide))) == "2 x 4");
  CHECK(mesh_of(check_of(16, meshed("hybrid_shard", wide))) == "2 x 8");
  CHECK(mesh_of(check_of(3, meshed("hybrid_shard", R"({"dp_replicate_size": 2, "dp_shard_size": 2})"))) ==
        "1 x 3");
  CHECK(mesh_of(check_of(4, meshed("hybrid_shard_zero2", R"({"dp_replicate_size": 8})"))) == "2 x 2");
  CHECK(mesh_of(check_of(2, meshed("full_shard", R"({"dp_shard_size": 8})"))) == "1 x 2");
  CHECK(mesh_of(check_of(2, {"--parallelism_config", R"({"dp_replicate_size": 8})"})) == "2 x 1");
  const std::string notes = check_of(4, meshed("hybrid_shard", wide)).notes();
  CHECK(contains(notes,
                 "the mesh is 2 x 2 (replicate x shard) here, not of 8 ranks that share a model "
                 "(--parallelism_config (command line))"));
  CHECK(contains(notes, "this check has 4 ranks"));
  CHECK_FALSE(contains(check_of(16, meshed("hybrid_shard", wide)).notes(), "the mesh is"));
}

TEST_CASE("a smoke run refuses a mesh that no number of ranks has, or fewer than it has") {
  CHECK(contains(
      check_of(5, meshed("hybrid_shard", R"({"dp_replicate_size": 2, "dp_shard_size": 2})")).error().render(),
      "the mesh does not cover the ranks"));
  CHECK(contains(check_of(2, meshed("no_shard", R"({"dp_shard_size": 8})")).error().render(),
                 "8 ranks that share a model are asked for"));
}

TEST_CASE("a smoke run's schedule is as long as itself") {
  Case run({"--max_steps", "30", "--deepspeed",
            R"({"zero_optimization": {"stage": 2}, "scheduler": {"type": "WarmupDecayLR",
               "params": {"total_num_steps": 500, "warmup_num_steps": 5}}})"},
           machine(0), environment_of({{"HFTRAIN_SMOKE", "1"}}));
  CHECK(run.plan().steps.max_steps == 30);
  CHECK(run.plan().schedule.warmup_steps == 5);
  CHECK(contains(run.notes(), "total_num_steps 500 (--deepspeed (command line)) is 30 here"));
}

}  // namespace hftrain::plan
