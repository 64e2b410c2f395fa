#include "hftrain/plan/rank_memory.h"

#include "resolve_case.h"
#include "support/catch.h"

namespace hftrain::plan {
namespace {

// A GPT-2 of width 8 whose every dimension is a multiple of 4: 3072 numbers in all.
constexpr int64_t kRanks = 4;

using Words = std::vector<std::string>;

RunPlan plan_of(Words flags, Topology where = machine(0)) {
  flags.insert(flags.end(), {"--nproc_per_node", std::to_string(kRanks)});
  return Case(flags, std::move(where)).plan();
}

}  // namespace

TEST_CASE("stage 1 and 2 keep whole parameters and a part of the rest") {
  const MemoryPlan ddp = plan_of({}).memory_per_rank;
  for (const char* flag : {"--sharded_ddp=simple", "--fsdp=shard_grad_op"}) {
    INFO(flag);
    const MemoryPlan memory = plan_of({flag}).memory_per_rank;
    CHECK(memory.parameters == ddp.parameters);
    CHECK(memory.gradients == ddp.gradients / kRanks);
    CHECK(memory.optimizer == ddp.optimizer / kRanks);
  }
  const MemoryPlan accumulated =
      plan_of({"--sharded_ddp=simple", "--gradient_accumulation_steps", "2"}).memory_per_rank;
  CHECK(accumulated.gradients == ddp.gradients);
  CHECK(plan_of({"--fsdp=shard_grad_op", "--gradient_accumulation_steps", "2"}).memory_per_rank.gradients ==
        ddp.gradients / kRanks);
}

TEST_CASE("stage 3 keeps a part of everything, and the units in use come on top") {
  const MemoryPlan ddp = plan_of({}).memory_per_rank;
  const MemoryPlan memory = plan_of({"--fsdp"}).memory_per_rank;
  CHECK(memory.parameters == ddp.parameters / kRanks);
  CHECK(memory.gradients == ddp.gradients / kRanks);
  CHECK(memory.optimizer == ddp.optimizer / kRanks);
  // Tied embeddings of 1312 numbers stay, two layers of 872 move. When the gradients of the embeddings come those of both
  // layers are on their way.
  CHECK(memory.buffers == 4 * (1312 + 2 * 872) + 4 * (1312 + 2 * 872));
  const MemoryPlan unhurried =
      plan_of({"--fsdp", "true", "--fsdp_config", R"({"backward_prefetch": "NO_PREFETCH"})"}).memory_per_rank;
  CHECK(unhurried.buffers == 4 * (1312 + 872) + 4 * (1312 + 2 * 872));
}

TEST_CASE("an adapter stays in float32 beside parts of weights that are not") {
  Case run({"--fsdp", "--use_peft", "--lora_r", "4", "--dtype", "bfloat16", "--nproc_per_node",
            std::to_string(kRanks)});
  run.model.source_folder = "/base";
  const RunPlan plan = run.plan();
  const int64_t adapter = plan.model.trainable_parameters, weights = plan.model.parameters - adapter;
  CHECK(adapter > 0);
  CHECK(plan.memory_per_rank.parameters == (2 * weights + 4 * adapter) / kRanks);
}

TEST_CASE("modules that are saved whole beside an adapter have the model's type, gradients and state too") {
  for (const std::string strategy : {"shard_grad_op", "full_shard", "no"}) {
    INFO(strategy);
    Words flags = {"--use_peft", "--lora_r", "4", "--dtype", "bfloat16", "--lora_modules_to_save", "wte"};
    flags.insert(flags.end(), {"--nproc_per_node", std::to_string(kRanks)});
    if (strategy != "no") flags.insert(flags.end(), {"--fsdp", strategy});
    Case run(flags);
    run.model.source_folder = "/base";
    const RunPlan plan = run.plan();
    const int64_t table = 100 * 8, adapter = plan.model.trainable_parameters - table;
    const int64_t parts = strategy == "no" ? 1 : kRanks;
    CHECK(plan.memory_per_rank.gradients == (2 * table + 4 * adapter) / parts);
    CHECK(plan.memory_per_rank.optimizer == 2 * plan.memory_per_rank.gradients);
    CHECK(plan.memory_per_rank.saving == (strategy == "no" ? 0 : 2 * table));
  }
}

TEST_CASE("a save puts a parameter of an adapter together, whatever form was asked for") {
  for (const char* form : {"FULL_STATE_DICT", "SHARDED_STATE_DICT"}) {
    INFO(form);
    Case run({"--fsdp", "--use_peft", "--lora_r", "4", "--async_save", "--fsdp_state_dict_type", form,
              "--nproc_per_node", std::to_string(kRanks)});
    run.model.source_folder = "/base";
    const RunPlan plan = run.plan();
    const int64_t written = 4 * plan.model.trainable_parameters + plan.memory_per_rank.optimizer;
    CHECK(plan.memory_per_rank.saving ==
          4 * 24 * 4 + written);  // of the products of queries, keys and values
    CHECK(background_copies(plan).other == plan.memory_per_rank.optimizer);
  }
}

TEST_CASE("a table of tokens is cast where a head multiplies by it") {
  const auto casts = [](const char* tied) {
    Case run({"--bf16"});
    run.model.architecture = architectures::Architecture::from_scratch(
        "llama", std::string("hidden_size=8,intermediate_size=16,num_hidden_layers=1,num_attention_heads=2,"
                             "num_key_value_heads=2,vocab_size=100,tie_word_embeddings=") +
                     tied);
    const RunPlan plan = run.plan();
    return std::pair(plan.memory_per_rank.buffers, plan.model.parameters);
  };
  const auto [tied, all] = casts("true");
  CHECK(tied == 2 * all);
  const auto [untied, more] = casts("false");
  CHECK(untied == 2 * (more - 100 * 8));
}

TEST_CASE("parts that a GPU casts behind the bus are there in both types") {
  // Gradients are apart in either plan: those of a micro-batch beside those of the one before.
  const auto buffers = [](const char* fsdp) {
    return plan_of({fsdp, "--bf16", "--gradient_accumulation_steps", "2"}, machine(kRanks))
        .memory_per_rank.buffers;
  };
  CHECK(buffers("--fsdp=full_shard offload") == buffers("--fsdp=full_shard") + 4 * 100 * 8 / kRanks);
}

TEST_CASE("without a limit all units that move are gathered at once") {
  const auto buffers = [](const char* config) {
    return plan_of({"--config_overrides", "n_layer=3,n_embd=8,n_head=2,vocab_size=100,n_positions=64",
                    "--fsdp", "true", "--fsdp_config", config})
        .memory_per_rank.buffers;
  };
  const int64_t limited = buffers(R"({"limit_all_gathers": true})");
  CHECK(limited == 4 * (1312 + 2 * 872) + 4 * (1312 + 2 * 872));
  // The last layer norm, of 16 numbers, moves as well.
  CHECK(buffers(R"({"limit_all_gathers": false})") == limited + 4 * (872 + 16));
}

TEST_CASE("gradients of three units are there at once, each in the type that it has by then") {
  const auto buffers = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--fsdp", "shard_grad_op auto_wrap"});
    return plan_of(std::move(more)).memory_per_rank.buffers;
  };
  const int64_t embeddings = 1312, layer = 872;
  CHECK(buffers({}) == 4 * (embeddings + 2 * layer));
  // They come as bfloat16 and travel as float32: those of 100 words of width 8 are there in both while they are turned.
  CHECK(buffers({"--bf16"}) == 4 * (embeddings + layer) + 2 * 800);
  // Another type than that of the gradients that stay: a rank's parts of two units come on top.
  CHECK(buffers({"--fsdp_config", R"({"reduce_dtype": "bfloat16"})"}) ==
        4 * embeddings + 2 * 2 * layer + 2 * (embeddings + layer) / kRanks);
  // Parts that are added to those of the micro-batch before.
  CHECK(buffers({"--gradient_accumulation_steps", "2"}) ==
        4 * (embeddings + 2 * layer) + 4 * (embeddings + layer) / kRanks);
}

TEST_CASE("one unit has all gradients on their way, and stage 1 keeps them until the last micro-batch") {
  const Words one_unit = {"--fsdp", "shard_grad_op", "--fsdp_config", R"({"auto_wrap_policy": "NO_WRAP"})"};
  CHECK(plan_of(one_unit).memory_per_rank.buffers == 4 * 3072);
  const MemoryPlan first =
      plan_of({"--sharded_ddp=simple", "--gradient_accumulation_steps", "2"}).memory_per_rank;
  CHECK(first.gradients == 4 * 3072);
  CHECK(first.buffers == 4 * (1312 + 872) / kRanks);
}

TEST_CASE("stage 1 holds parts of gradients alone where those of every micro-batch are reduced") {
  const Words each = {"--gradient_accumulation_steps", "2", "--accelerator_config",
                      R"({"gradient_accumulation_kwargs": {"sync_each_batch": true}})"};
  const auto with = [&](Words flags) {
    flags.insert(flags.end(), each.begin(), each.end());
    return plan_of(std::move(flags)).memory_per_rank;
  };
  const MemoryPlan first = with({"--sharded_ddp=simple"}),
                   second = with({"--fsdp", "shard_grad_op auto_wrap"});
  CHECK(first.gradients == 4 * 3072 / kRanks);
  CHECK(first.gradients == second.gradients);
  CHECK(first.buffers == second.buffers);
}

TEST_CASE("gradients of a unit around others wait for its first part") {
  // Embeddings and the last layer norm are one unit of 688 numbers, with layers of 872 in between.
  const RunPlan plan =
      plan_of({"--config_overrides", "n_layer=2,n_embd=8,n_head=2,vocab_size=20,n_positions=64", "--bf16",
               "--fsdp", "shard_grad_op auto_wrap", "--fsdp_min_num_params", "800"});
  REQUIRE(plan.strategy.units.size() == 3);
  CHECK(plan.memory_per_rank.buffers == 2 * 688 + 4 * 2 * 872 + 2 * 256);
}

TEST_CASE("between replicas the parts of all units are on their way until the pass ends") {
  const auto buffers = [](const char* steps) {
    return plan_of({"--fsdp", "true", "--parallelism_config", R"({"dp_replicate_size": 2})",
                    "--gradient_accumulation_steps", steps})
        .memory_per_rank.buffers;
  };
  CHECK(buffers("2") - buffers("1") == 4 * 3072 / 2);
}

TEST_CASE(
    "half precision adds the sharded master weights to whole parameters in the type of the forward pass") {
  const MemoryPlan ddp = plan_of({}).memory_per_rank;
  const MemoryPlan second = plan_of({"--fsdp=shard_grad_op", "--bf16"}).memory_per_rank;
  CHECK(second.parameters == ddp.parameters / 2 + ddp.parameters / kRanks);
  const MemoryPlan third = plan_of({"--fsdp", "--bf16"}).memory_per_rank;
  CHECK(third.parameters == ddp.parameters / kRanks);
}

TEST_CASE("replicas do not make parts smaller") {
  const RunPlan plan = plan_of({"--fsdp", "true", "--parallelism_config", R"({"dp_replicate_size": 2})"});
  CHECK(plan.memory_per_rank.parameters == plan_of({}).memory_per_rank.parameters / 2);
}

TEST_CASE("rows that do not divide by the ranks are rounded up") {
  const RunPlan plan = Case({"--fsdp", "--nproc_per_node", "3"}).plan();
  const int64_t whole = Case().plan().memory_per_rank.parameters;
  CHECK(plan.memory_per_rank.parameters > whole / 3);
  CHECK(plan.memory_per_rank.parameters < whole / 3 * 12 / 10);
}

TEST_CASE("offload on GPUs moves parts to the host, and on the CPU changes nothing") {
  const Topology gpus = machine(kRanks);
  const MemoryPlan plain = plan_of({"--fsdp"}, gpus).memory_per_rank;
  const MemoryPlan memory = plan_of({"--fsdp", "full_shard offload auto_wrap"}, gpus).memory_per_rank;
  CHECK(plain.host == 0);
  CHECK(memory.host == memory.parameters + memory.gradients + memory.optimizer);
  CHECK(plan_of({"--fsdp", "full_shard offload auto_wrap"}).memory_per_rank.host == 0);
}

TEST_CASE("offloaded gradients arrive beside those of the micro-batch before; whole ones stay on the GPU") {
  const auto with = [](int stage, const char* steps, const Words& more = {}) {
    Words flags = {"--gradient_accumulation_steps", steps, "--deepspeed",
                   "{\"zero_optimization\": {\"stage\": " + std::to_string(stage) +
                       ", \"offload_optimizer\": {\"device\": \"cpu\"}}}"};
    flags.insert(flags.end(), more.begin(), more.end());
    return plan_of(std::move(flags), machine(kRanks)).memory_per_rank;
  };
  // Of 860 numbers: those of each parameter's part, 768 together, in blocks of powers of two.
  constexpr int64_t kPart = 4 * 860;
  for (const int stage : {1, 2}) {
    INFO("stage " << stage);
    const MemoryPlan once = with(stage, "1");
    CHECK(once.gradients == kPart);
    CHECK(once.host == kPart + once.gradients + once.optimizer);  // master weights too
  }
  const MemoryPlan first = with(1, "2"), second = with(2, "2");
  CHECK(first.gradients == 4 * 3072 + kPart);
  CHECK(first.host == with(1, "1").host);
  CHECK(second.gradients == 2 * kPart);
  CHECK(second.host == with(2, "1").host + kPart);
  const MemoryPlan each = with(
      1, "2", {"--accelerator_config", R"({"gradient_accumulation_kwargs": {"sync_each_batch": true}})"});
  CHECK(each.gradients == second.gradients);
  CHECK(each.host == second.host);
}

TEST_CASE(
    "a checkpoint holds the whole model whatever the strategy, and a save puts one parameter together") {
  const RunPlan ddp = plan_of({}), sharded = plan_of({"--fsdp"});
  CHECK(sharded.disk.checkpoint_bytes == ddp.disk.checkpoint_bytes);
  CHECK(ddp.memory_per_rank.saving == 0);
  CHECK(sharded.memory_per_rank.saving == 4 * 100 * 8);  // the word embeddings
  CHECK(plan_of({"--fsdp", "true", "--fsdp_config", R"({"state_dict_type": "SHARDED_STATE_DICT"})"})
            .memory_per_rank.saving == 0);
}

TEST_CASE("saving in the background takes a copy of what rank 0 writes") {
  const RunPlan ddp = plan_of({"--async_save"}), sharded = plan_of({"--async_save", "--fsdp"});
  CHECK(ddp.memory_per_rank.saving == ddp.disk.checkpoint_bytes);
  const int64_t weights = 4 * sharded.model.parameters;
  CHECK(sharded.memory_per_rank.saving == 4 * 100 * 8 + weights + sharded.memory_per_rank.optimizer);
  const RunPlan parts = plan_of(
      {"--async_save", "--fsdp", "true", "--fsdp_config", R"({"state_dict_type": "SHARDED_STATE_DICT"})"});
  CHECK(parts.memory_per_rank.saving == weights / kRanks + parts.memory_per_rank.optimizer);
  CHECK(plan_of({"--async_save", "--save_only_model"}).memory_per_rank.saving == weights);
}

TEST_CASE(
    "a machine keeps the copies of all of its ranks, and one that has no room for them says so before "
    "training") {
  const RunPlan ddp = plan_of({"--async_save"}), sharded = plan_of({"--async_save", "--fsdp"});
  CHECK(background_copies(plan_of({"--fsdp"})).machine == 0);
  CHECK(background_copies(ddp).machine == ddp.memory_per_rank.saving);
  CHECK(background_copies(sharded).machine ==
        sharded.memory_per_rank.saving + (kRanks - 1) * sharded.memory_per_rank.optimizer);
  const RunPlan parts = plan_of(
      {"--async_save", "--fsdp", "true", "--fsdp_config", R"({"state_dict_type": "SHARDED_STATE_DICT"})"});
  CHECK(background_copies(parts).machine == kRanks * parts.memory_per_rank.saving);

  const MemoryPlan& memory = ddp.memory_per_rank;
  const int64_t state = (kProgramBytes + memory.parameters + memory.gradients + memory.optimizer) * kRanks;
  Topology small = machine(0);
  small.host.memory_bytes = state + background_copies(ddp).machine;
  plan_of({"--async_save"}, small);
  --small.host.memory_bytes;
  Case run({"--async_save", "--nproc_per_node", std::to_string(kRanks)}, small);
  CHECK(run.error().code() == ExitCode::kHostMemory);
  CHECK(contains(run.error().render(), "--async_save keeps copies of"));

  run.topology.host.memory_bytes = 16 * kGiB;
  run.topology.host.available_bytes =
      (kWorkingProgramBytes + memory.total) * kRanks + background_copies(ddp).machine;
  CHECK_FALSE(contains(run.notes(), "saving in the background"));
  --run.topology.host.available_bytes;
  CHECK(contains(run.notes(), "saving in the background keeps"));
}

}  // namespace hftrain::plan
