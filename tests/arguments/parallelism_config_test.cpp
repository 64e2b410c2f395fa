#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {
TEST_CASE("the sizes of parallelism_config make full sharding hybrid") {
  const ParallelOptions options =
      sharding({"--fsdp", "true", "--parallelism_config", R"({"dp_replicate_size": 2, "dp_shard_size": 3})"});
  CHECK(options.strategy.value == "hybrid_shard");
  CHECK(options.replicate_ranks.value == 2);
  CHECK(options.shard_ranks.value == 3);
  CHECK(sharding({"--fsdp", "shard_grad_op", "--parallelism_config", R"({"dp_replicate_size": 2})"})
            .strategy.value == "hybrid_shard_zero2");
  CHECK(sharding({"--fsdp", "true", "--parallelism_config", R"({"dp_shard_size": 4})"}).strategy.value ==
        "full_shard");
}

TEST_CASE("the flags of accelerate launch count with use_parallelism_config") {
  const Words words = {"--use_fsdp", "--fsdp_version",
                       "2",          "--parallelism_config_dp_replicate_size",
                       "2",          "--parallelism_config_dp_shard_size",
                       "2"};
  CHECK_FALSE(sharding(words).replicate_ranks);
  Words used = words;
  used.push_back("--use_parallelism_config");
  CHECK(sharding(used).replicate_ranks.value == 2);
  CHECK(sharding(used).strategy.value == "hybrid_shard");
}

TEST_CASE("sizes without use_parallelism_config are warned of") {
  const ParseOutcome outcome = parse({"--fsdp", "true", "--parallelism_config_dp_replicate_size", "2",
                                      "--parallelism_config_dp_shard_size", "1"});
  CHECK(contains(notes(outcome),
                 "sizes of a parallelism_config have no effect without --use_parallelism_config\n"
                 "  where: --parallelism_config_dp_replicate_size (command line)\n"));
  CHECK_FALSE(
      contains(notes(parse({"--fsdp", "true", "--parallelism_config_dp_shard_size", "1"})), "sizes of"));
}

TEST_CASE("what does nothing in a parallelism_config is told") {
  CHECK(contains(notes(parse({"--use_parallelism_config"})), "use_parallelism_config has no effect"));
  CHECK_FALSE(contains(notes(parse({"--use_fsdp", "--fsdp_version", "2", "--use_parallelism_config",
                                    "--parallelism_config_dp_shard_size", "2"})),
                       "use_parallelism_config has no effect"));
  const auto with = [](const std::string& text) {
    return notes(parse({"--fsdp", "true", "--parallelism_config", text}));
  };
  CHECK(contains(with(R"({"cp_backend": "torch", "dp_shard_size": 2})"),
                 "keys of parallelism_config have no effect here\n  where: cp_backend"));
  CHECK_FALSE(contains(with(R"({"dp_shard_size": 2})"), "parallelism_config"));
}

TEST_CASE("rule F12: accelerate launch has these sizes in version 2 only") {
  CHECK(contains(
      mistakes({"--use_fsdp", "--use_parallelism_config", "--parallelism_config_dp_shard_size", "2"}),
      "parallelism_config needs fsdp_version 2"));
  const auto version = [](const std::string& said) {
    return mistakes({"--use_fsdp", "--fsdp_config", "{\"version\": " + said + '}', "--use_parallelism_config",
                     "--parallelism_config_dp_replicate_size", "2"});
  };
  CHECK(version("2").empty());
  CHECK(contains(version("1"), "parallelism_config needs fsdp_version 2"));
}

TEST_CASE("a strategy that is not FSDP's stays what was asked for beside a mesh") {
  const Words mesh = {"--parallelism_config", R"({"dp_replicate_size": 2})"};
  CHECK(contains(mistakes(also({"--deepspeed", R"({"zero_optimization": {"stage": 2}})"}, mesh)),
                 "dp_replicate_size above 1 needs --fsdp or --use_fsdp"));
  CHECK(contains(mistakes(also({"--sharded_ddp", "zero_dp_3"}, mesh)), "dp_replicate_size above 1 needs"));
  CHECK(mistakes(mesh).empty());
  CHECK(mistakes(also({"--zero_stage", "0"}, mesh)).empty());  // DDP, whose mesh it is
}

TEST_CASE("other kinds of parallelism and unknown keys are refused") {
  const auto with = [](const std::string& text) {
    return mistakes({"--fsdp", "true", "--parallelism_config", text});
  };
  CHECK(contains(with(R"({"tp_size": 2})"), "tp_size above 1 is not supported"));
  CHECK(with(R"({"tp_size": 1, "cp_size": 1, "sp_size": "1"})").empty());
  CHECK(contains(with(R"({"dp_shard_sze": 2})"), "did you mean dp_shard_size"));
  CHECK(contains(with(R"({"dp_shard_size": 0})"), "dp_shard_size: \"0\" is not a whole number >= 1"));
  CHECK(
      contains(mistakes({"--parallelism_config", R"({"dp_shard_size": 2})"}), "needs --fsdp or --use_fsdp"));
}

}  // namespace hftrain::arguments
