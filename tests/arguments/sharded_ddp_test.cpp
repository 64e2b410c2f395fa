#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {
TEST_CASE("the words of --sharded_ddp name ZeRO's stages") {
  CHECK(sharding({"--sharded_ddp", "simple"}).strategy.value == "zero1");
  CHECK(sharding({"--sharded_ddp"}).strategy.value == "zero1");
  CHECK(sharding({"--sharded_ddp", "true"}).strategy.value == "zero1");
  CHECK(sharding({"--sharded_ddp", "zero_dp_2"}).strategy.value == "shard_grad_op");
  CHECK(sharding({"--sharded_ddp", "zero_dp_3"}).strategy.value == "full_shard");
  CHECK_FALSE(sharding({"--sharded_ddp", "false"}).strategy);
  CHECK(sharding({"--sharded_ddp", "zero_dp_3"}).strategy.origin == "--sharded_ddp");
}

TEST_CASE("offload, also as cpu_offload, and auto_wrap go with zero_dp") {
  for (const char* words : {"zero_dp_3 offload", "zero_dp_3 cpu_offload", "zero_dp_3,offload"}) {
    const ParallelOptions options = sharding({"--sharded_ddp", words});
    CHECK(options.offload_parameters.value == "cpu");
    CHECK(options.offload_optimizer.value == "cpu");
    CHECK(options.wrap_policy.value == "none");
  }
  CHECK(sharding({"--sharded_ddp", "zero_dp_2 auto_wrap"}).wrap_policy.value == "transformer");
}

TEST_CASE("rules S1 to S3: words of --sharded_ddp that contradict each other") {
  CHECK(contains(mistakes({"--sharded_ddp", "offload"}), "offload and auto_wrap need a word that shards"));
  CHECK(contains(mistakes({"--sharded_ddp", "simple offload"}), "simple stands alone"));
  CHECK(contains(mistakes({"--sharded_ddp", "zero_dp_2 zero_dp_3"}),
                 "zero_dp_2 and zero_dp_3 exclude each other"));
  CHECK(contains(mistakes({"--sharded_ddp", "zero_dp_4"}), "'zero_dp_4' is not one of simple, zero_dp_2"));
}

TEST_CASE("rules S4 and S6: bf16 and a world of one are fine") {
  CHECK(mistakes({"--sharded_ddp", "zero_dp_2", "--bf16"}).empty());
  CHECK(mistakes({"--sharded_ddp", "simple", "--nproc_per_node", "1"}).empty());
}

TEST_CASE("rule S5: not with fsdp or deepspeed, and the message names both flags") {
  const std::string text = mistakes({"--sharded_ddp", "simple", "--deepspeed", "{}"});
  CHECK(contains(text, "sharded_ddp and deepspeed exclude each other"));
  CHECK(contains(text, "--sharded_ddp (command line), --deepspeed (command line)"));
}

TEST_CASE("sharded_ddp is an old option and says what it became") {
  const auto today = [](const char* words) { return notes(parse({"--sharded_ddp", words})); };
  CHECK(contains(today("zero_dp_3"),
                 "try: use --fsdp full_shard --fsdp_config '{\"auto_wrap_policy\": \"NO_WRAP\"}'\n"));
  CHECK(
      contains(today("zero_dp_2 auto_wrap cpu_offload"), "use --fsdp \"shard_grad_op auto_wrap offload\"\n"));
  CHECK(contains(today("simple"), R"(use --deepspeed '{"zero_optimization": {"stage": 1}}')"));
}

}  // namespace hftrain::arguments
