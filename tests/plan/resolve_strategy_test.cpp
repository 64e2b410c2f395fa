#include <fstream>

#include "resolve_case.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

using Words = std::vector<std::string>;

// A run on `ranks` CPU ranks.
Case cpu_run(int ranks, Words flags) {
  flags.insert(flags.end(), {"--nproc_per_node", std::to_string(ranks)});
  return Case(flags);
}

StrategyPlan strategy(int ranks, const Words& flags) {
  return cpu_run(ranks, flags).plan().strategy;
}

struct Expected {
  Words flags;
  const char* name;
  int stage, replicate, shard;
};

}  // namespace

TEST_CASE("every way of asking for sharding gives its stage and mesh") {
  const std::vector<Expected> table = {
      {{"--fsdp", "full_shard"}, "full_shard", 3, 1, 4},
      {{"--fsdp"}, "full_shard", 3, 1, 4},
      {{"--fsdp", "shard_grad_op"}, "shard_grad_op", 2, 1, 4},
      {{"--fsdp", "no_shard"}, "ddp", 0, 4, 1},
      {{"--fsdp", "hybrid_shard"}, "hybrid_shard", 3, 1, 4},
      {{"--fsdp", "hybrid_shard_zero2"}, "hybrid_shard_zero2", 2, 1, 4},
      {{"--fsdp", "hybrid_shard", "--parallelism_config", R"({"dp_replicate_size": 2})"},
       "hybrid_shard",
       3,
       2,
       2},
      {{"--fsdp", "shard_grad_op", "--parallelism_config", R"({"dp_replicate_size": 2, "dp_shard_size": 2})"},
       "hybrid_shard_zero2",
       2,
       2,
       2},
      {{"--sharded_ddp", "simple"}, "zero1", 1, 1, 4},
      {{"--sharded_ddp", "zero_dp_2"}, "shard_grad_op", 2, 1, 4},
      {{"--sharded_ddp", "zero_dp_3"}, "full_shard", 3, 1, 4},
      {{"--use_fsdp"}, "full_shard", 3, 1, 4},
      {{}, "ddp", 0, 4, 1}};
  for (const Expected& expected : table) {
    INFO((expected.flags.empty() ? "no flag" : expected.flags.front() + ' ' + expected.flags.back()));
    const StrategyPlan plan = strategy(4, expected.flags);
    CHECK(plan.name == expected.name);
    CHECK(plan.stage == expected.stage);
    CHECK(plan.mesh_replicate == expected.replicate);
    CHECK(plan.mesh_shard == expected.shard);
  }
}

TEST_CASE("one rank keeps the strategy, on a mesh of one") {
  const StrategyPlan plan = strategy(1, {"--fsdp", "full_shard"});
  CHECK(plan.name == "full_shard");
  CHECK(plan.stage == 3);
  CHECK(plan.mesh_replicate * plan.mesh_shard == 1);
  CHECK(strategy(1, {"--fsdp", "no_shard"}).name == "single");
}

TEST_CASE("layers become units unless the policy is another one") {
  const StrategyPlan whole =
      strategy(2, {"--fsdp", "full_shard", "--fsdp_config", R"({"auto_wrap_policy": "NO_WRAP"})"});
  REQUIRE(whole.units.size() == 1);
  CHECK(whole.units[0].name == "model");
  CHECK(whole.units[0].reshard_after_forward);
  for (const Words& flags :
       {Words{"--fsdp", "full_shard"}, Words{"--fsdp", "full_shard auto_wrap"}, Words{"--fsdp"}}) {
    const StrategyPlan wrapped = strategy(2, flags);
    REQUIRE(wrapped.units.size() == 4);
    CHECK(wrapped.units[1].name == "block.0");
    CHECK(wrapped.units[1].reshard_after_forward);
    CHECK(wrapped.units[3].reshard_after_forward);
  }
  CHECK_FALSE(strategy(2, {"--fsdp", "shard_grad_op auto_wrap"}).units[1].reshard_after_forward);
  CHECK(strategy(2, {"--sharded_ddp", "simple"}).units.size() == 4);
  CHECK(strategy(2, {"--fsdp", "full_shard auto_wrap", "--fsdp_min_num_params", "900"}).units.size() == 2);
}

TEST_CASE("sizes that do not cover the ranks are refused with their places") {
  const std::string text =
      cpu_run(3, {"--fsdp", "hybrid_shard", "--parallelism_config", R"({"dp_replicate_size": 2})"})
          .error()
          .render();
  CHECK(contains(text, "the mesh does not cover the ranks\n  where: --parallelism_config (command line)"));
  CHECK(contains(text, "2 replicas of 1 ranks are 2, and the run has 3 ranks"));
  CHECK(contains(cpu_run(4, {"--fsdp", "full_shard", "--parallelism_config", R"({"dp_shard_size": 2})"})
                     .error()
                     .render(),
                 "the shard groups of full_shard are all ranks"));
  CHECK(contains(
      cpu_run(2, {"--fsdp", "no_shard", "--parallelism_config", R"({"dp_shard_size": 2})"}).error().render(),
      "2 ranks that share a model are asked for\n  where: --parallelism_config (command line)\n"
      "  why: ddp cuts nothing along them"));
}

TEST_CASE("rule F9: a layer class that the model does not have is refused by name") {
  const Words flags = {"--fsdp", "full_shard auto_wrap", "--fsdp_transformer_layer_cls_to_wrap"};
  Words wrong = flags, right = flags;
  wrong.push_back("GPT2Block,BertLayer");
  right.push_back("GPT2Block");
  const std::string text = cpu_run(2, wrong).error().render();
  CHECK(contains(text, "the model has no layer class 'BertLayer'"));
  CHECK(contains(text, "where: --fsdp_transformer_layer_cls_to_wrap (command line)"));
  CHECK(contains(text, "gpt2 has GPT2Block"));
  CHECK(cpu_run(2, right).plan().strategy.units.size() == 4);
}

TEST_CASE("fsdp_config reaches the plan") {
  const RunPlan plan =
      cpu_run(2,
              {"--fsdp", "full_shard", "--fsdp_config",
               R"({"backward_prefetch": "BACKWARD_POST", "forward_prefetch": true, "limit_all_gathers": false,
                  "state_dict_type": "SHARDED_STATE_DICT", "activation_checkpointing": true,
                  "reduce_dtype": "bfloat16"})"})
          .plan();
  CHECK(plan.strategy.backward_prefetch == "post");
  CHECK(plan.strategy.forward_prefetch);
  CHECK_FALSE(plan.strategy.limit_all_gathers);
  CHECK(plan.strategy.state_dict == "sharded");
  CHECK(plan.strategy.reduce_dtype == "bfloat16");
  CHECK(plan.model.gradient_checkpointing);
}

TEST_CASE("a module whose weight is tied is ignored by its own name, too") {
  const auto ignored = [](const std::string& modules) {
    return cpu_run(2, {"--fsdp", "full_shard", "--fsdp_config", R"({"ignored_modules": ")" + modules + "\"}"})
        .plan()
        .strategy.ignored;
  };
  CHECK(ignored("lm_head") == std::vector<std::string>{"transformer.wte.weight"});
  CHECK(ignored("lm_head") == ignored("transformer.wte"));
}

TEST_CASE("GPUs gather the next unit ahead unless told not to") {
  const auto ahead = [](const Case& run) { return run.plan().strategy.forward_prefetch; };
  const Words no_prefetch{"--fsdp", "full_shard", "--fsdp_config", R"({"forward_prefetch": false})"};
  CHECK(ahead(Case({"--fsdp", "full_shard"}, machine(2))));
  CHECK_FALSE(ahead(Case(no_prefetch, machine(2))));
  CHECK(ahead(Case({"--fsdp", "shard_grad_op"}, machine(2))));
  CHECK(ahead(Case({"--sharded_ddp", "simple"}, machine(2))));
  CHECK_FALSE(ahead(Case({"--fsdp", "no_shard"}, machine(2))));
  CHECK_FALSE(ahead(
      Case({"--fsdp", "shard_grad_op", "--fsdp_config", R"({"limit_all_gathers": false})"}, machine(2))));
  CHECK(ahead(Case({"--fsdp", "shard_grad_op offload"}, machine(2))));
  CHECK_FALSE(ahead(Case(
      {"--fsdp", "shard_grad_op offload", "--fsdp_config", R"({"forward_prefetch": false})"}, machine(2))));
  CHECK_FALSE(ahead(cpu_run(2, {"--fsdp", "full_shard"})));
  CHECK_FALSE(ahead(cpu_run(2, {"--fsdp", "shard_grad_op"})));
}

TEST_CASE("offload is in the plan, and on the CPU it is said to change nothing") {
  const Case cpu = cpu_run(2, {"--fsdp", "full_shard offload"});
  CHECK(cpu.plan().strategy.offload_parameters == "cpu");
  CHECK(cpu.plan().strategy.offload_optimizer == "cpu");
  CHECK(contains(cpu.notes(), "offload to the CPU changes nothing here"));
  const Case gpus({"--fsdp", "full_shard offload"}, machine(2));
  CHECK(gpus.plan().strategy.offload_parameters == "cpu");
  CHECK_FALSE(contains(gpus.notes(), "changes nothing"));
  CHECK(contains(cpu_run(2, {"--fsdp", "no_shard offload"}).error().render(),
                 "offload needs a strategy that shards"));
}

TEST_CASE("DDP looks for unused parameters unless told not to or activations are recomputed") {
  CHECK(cpu_run(2, {}).plan().strategy.find_unused_parameters);
  CHECK_FALSE(cpu_run(2, {"--gradient_checkpointing"}).plan().strategy.find_unused_parameters);
  CHECK_FALSE(cpu_run(2, {"--ddp_find_unused_parameters", "false"}).plan().strategy.find_unused_parameters);
  CHECK(
      cpu_run(2, {"--gradient_checkpointing", "--ddp_static_graph"}).plan().strategy.find_unused_parameters);
  const auto walks = [](std::vector<std::string> more) {
    std::vector<std::string> flags = {"--ddp_static_graph", "--gradient_accumulation_steps", "2"};
    flags.insert(flags.end(), more.begin(), more.end());
    return contains(cpu_run(2, flags).notes(), "the graph is walked at every update");
  };
  CHECK(walks({}));
  CHECK_FALSE(walks({"--ddp_find_unused_parameters", "false"}));
  CHECK(cpu_run(2, {"--gradient_checkpointing", "--ddp_find_unused_parameters", "true"})
            .plan()
            .strategy.find_unused_parameters);
}

TEST_CASE("DDP that takes the parameters of all updates for the same is refused where layers are dropped") {
  const auto drops = [](const char* layerdrop, int ranks, std::vector<std::string> flags) {
    Case run = cpu_run(ranks, std::move(flags));
    run.parsed.arguments.run.task = "summarization";
    run.model.architecture = two_stacks(
        "bart",
        std::string(
            "encoder_layers=1,decoder_layers=1,encoder_attention_heads=2,decoder_attention_heads=2,") +
            layerdrop);
    return run;
  };
  const char* said = "ddp_static_graph does not go with layers that are dropped by chance";
  for (const char* layerdrop : {"encoder_layerdrop=0.1", "decoder_layerdrop=0.1"}) {
    const Error refused = drops(layerdrop, 2, {"--ddp_static_graph"}).error();
    CHECK(refused.code() == ExitCode::kUsage);
    CHECK(contains(refused.render(), said));
  }
  CHECK(drops("encoder_layerdrop=0.0", 2, {"--ddp_static_graph"}).plan().strategy.static_graph == true);
  CHECK(drops("encoder_layerdrop=0.1", 1, {"--ddp_static_graph"}).plan().strategy.static_graph == true);
  CHECK_FALSE(drops("encoder_layerdrop=0.1", 2, {}).plan().strategy.static_graph);
  CHECK(drops("encoder_layerdrop=0.1", 2, {"--ddp_static_graph", "--gradient_accumulation_steps", "2"})
            .plan()
            .strategy.static_graph == true);
  const auto unsearched = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--ddp_find_unused_parameters", "false"});
    return drops("encoder_layerdrop=0.1", 2, std::move(more));
  };
  const char* needs = "layers that are dropped by chance need ddp_find_unused_parameters";
  CHECK(contains(unsearched({}).error().render(), needs));
  CHECK(contains(unsearched({"--ddp_static_graph", "--gradient_accumulation_steps", "2"}).error().render(),
                 needs));
  CHECK_FALSE(unsearched({"--gradient_checkpointing"}).plan().strategy.find_unused_parameters);
}

TEST_CASE(
    "use_liger_kernel false is told to switch fused operators off, also of a file that repeats the default") {
  const char* told = "use_liger_kernel false switches the fused operators off";
  CHECK(contains(Case({"--use_liger_kernel", "false"}).notes(), told));
  const testing::TemporaryDirectory folder;
  std::ofstream(folder / "run.yaml") << "use_liger_kernel: false\nseed: 42\n";
  const Case repeats({"--config", folder / "run.yaml"});
  CHECK(contains(repeats.notes(), told));
  CHECK_FALSE(repeats.plan().model.fused_kernels.rest);
}

TEST_CASE("on GPUs a note says which operators use_liger_kernel fuses") {
  CHECK(contains(Case({"--use_liger_kernel"}, machine(1)).notes(), "on GPUs use_liger_kernel may fuse"));
  CHECK_FALSE(contains(Case({"--use_liger_kernel"}).notes(), "use_liger_kernel"));
  CHECK_FALSE(contains(Case({}, machine(1)).notes(), "use_liger_kernel"));
}

TEST_CASE("kernels of our own run on GPUs where they are asked for, and on processors always") {
  const auto own = [](const std::vector<std::string>& flags, int gpus) {
    return Case(flags, machine(gpus)).plan().model.fused_kernels.own;
  };
  CHECK_FALSE(own({}, 1));
  CHECK(own({"--use_liger_kernel"}, 1));
  CHECK(own({"--liger_kernel_config", R"({"rope": false})"}, 1));
  CHECK(own({}, 0));
  CHECK(own({"--use_cpu"}, 1));
  CHECK(Case({}, machine(1)).plan().model.fused_kernels.loss);
}

TEST_CASE("hybrid sharding on one machine says that there are no replicas") {
  CHECK(contains(cpu_run(2, {"--fsdp", "hybrid_shard"}).notes(),
                 "hybrid_shard shards over all 2 ranks, without replicas"));
  CHECK_FALSE(contains(
      cpu_run(2, {"--fsdp", "hybrid_shard", "--parallelism_config", R"({"dp_shard_size": 2})"}).notes(),
      "without replicas"));  // that was asked for
}

TEST_CASE("an optimizer that needs whole matrices is refused with shards") {
  const std::string text = cpu_run(2, {"--fsdp", "full_shard", "--optim", "adafactor"}).error().render();
  CHECK(contains(text, "adafactor does not work with full_shard"));
  CHECK(cpu_run(1, {"--fsdp", "full_shard", "--optim", "adafactor"}).plan().strategy.stage == 3);
  CHECK(cpu_run(2, {"--optim", "adafactor"}).plan().strategy.stage == 0);
}

TEST_CASE("state that is not number by number is refused for NVMe") {
  Case adafactor = cpu_run(1, {"--fsdp", "full_shard", "--optim", "adafactor"});
  arguments::ParallelOptions& sharding = adafactor.parsed.arguments.parallel.sharding;
  sharding.offload_optimizer = {"nvme", "ds.json:3:14"};
  sharding.optimizer_path = {"/nvme", "ds.json:4:18"};
  CHECK(contains(adafactor.error().render(),
                 "the state of adafactor cannot be kept on NVMe\n  where: ds.json:3:14"));
}

TEST_CASE("options of DDP beside sharding are warned of") {
  CHECK(contains(cpu_run(2, {"--fsdp", "full_shard", "--ddp_bucket_cap_mb", "5"}).notes(),
                 "ddp_bucket_cap_mb has no effect with full_shard"));
}

TEST_CASE("NVMe needs a folder, and parameters there need full sharding") {
  Case optimizer = cpu_run(1, {"--fsdp", "shard_grad_op"});
  arguments::ParallelOptions& sharding = optimizer.parsed.arguments.parallel.sharding;
  sharding.offload_optimizer = {"nvme", "ds.json:3:14"};
  CHECK(contains(optimizer.error().render(),
                 "offload of the optimizer to NVMe needs a folder\n  where: ds.json:3:14"));
  sharding.optimizer_path = {"/nvme", "ds.json:4:18"};
  sharding.buffer_numbers = {1000, "ds.json:5:20"};
  sharding.queue_depth = {16, "ds.json:6:20"};
  const StrategyPlan plan = optimizer.plan().strategy;
  CHECK(plan.nvme.optimizer_path == "/nvme");
  CHECK(plan.nvme.buffer_bytes == 4000);
  CHECK(plan.nvme.queue_depth == 16);
  sharding.offload_parameters = {"nvme", "ds.json:8:14"};
  sharding.parameters_path = {"/nvme", "ds.json:9:18"};
  CHECK(contains(optimizer.error().render(), "parameters on NVMe need full sharding"));
}

}  // namespace hftrain::plan
