// Variables of the environment, as docs/environment.md lists them.
#include "hftrain/arguments/import/environment.h"

#include "support.h"
#include "support/catch.h"

namespace hftrain::arguments {
namespace {

using Variables = std::map<std::string, std::string>;

// What accelerate launch exports for an FSDP run of version 2, and `more`.
Environment fsdp(const Variables& more) {
  Variables all = {{"ACCELERATE_USE_FSDP", "true"}, {"FSDP_VERSION", "2"}};
  all.insert(more.begin(), more.end());
  return Environment(all);
}

Environment deepspeed(const Variables& more) {
  Variables all = {{"ACCELERATE_USE_DEEPSPEED", "true"}};
  all.insert(more.begin(), more.end());
  return Environment(all);
}

}  // namespace

TEST_CASE("the precision and the device of an announced launch count below every flag") {
  const Environment environment =
      fsdp({{"ACCELERATE_MIXED_PRECISION", "bf16"}, {"ACCELERATE_USE_CPU", "True"}});
  const ParseOutcome outcome = parse({}, environment);
  CHECK(outcome.arguments.precision.bf16);
  CHECK(outcome.arguments.device.use_cpu);
  CHECK(outcome.origins.of("bf16") == "environment ACCELERATE_MIXED_PRECISION");
  CHECK(contains(notes(outcome),
                 "ACCELERATE_MIXED_PRECISION=bf16 of the environment is used as --mixed_precision"));
  CHECK(contains(notes(outcome), "ACCELERATE_USE_CPU=True of the environment is used as --use_cpu"));
  const ParseOutcome told = parse({"--mixed_precision", "no", "--use_cpu", "false"}, environment);
  CHECK_FALSE(told.arguments.precision.bf16);
  CHECK_FALSE(told.arguments.device.use_cpu);
  CHECK_FALSE(contains(notes(told), "is used as"));
  CHECK(contains(mistakes({}, fsdp({{"ACCELERATE_MIXED_PRECISION", "fp8"}})), "mixed_precision fp8"));
}

TEST_CASE("what accelerate exports for every run is not told of") {
  const ParseOutcome outcome = parse({}, fsdp({{"ACCELERATE_MIXED_PRECISION", "no"},
                                               {"ACCELERATE_USE_CPU", "False"},
                                               {"ACCELERATE_DYNAMO_BACKEND", "NO"},
                                               {"ACCELERATE_DYNAMO_MODE", "default"},
                                               {"ACCELERATE_DYNAMO_USE_FULLGRAPH", "False"}}));
  CHECK_FALSE(contains(notes(outcome), "ACCELERATE_DYNAMO"));
  CHECK_FALSE(contains(notes(outcome), "ACCELERATE_MIXED"));
  CHECK_FALSE(contains(notes(outcome), "ACCELERATE_USE_CPU"));
}

TEST_CASE("without ACCELERATE_USE_FSDP or ACCELERATE_USE_DEEPSPEED accelerate's variables do not count") {
  const ParseOutcome outcome = parse({}, Environment(Variables{{"ACCELERATE_MIXED_PRECISION", "bf16"},
                                                               {"ACCELERATE_USE_CPU", "True"},
                                                               {"ACCELERATE_TORCH_DEVICE", "cpu"},
                                                               {"PARALLELISM_CONFIG_TP_SIZE", "2"}}));
  CHECK_FALSE(outcome.arguments.precision.bf16);
  CHECK_FALSE(outcome.arguments.device.use_cpu);
  CHECK(contains(notes(outcome),
                 "ACCELERATE_MIXED_PRECISION=bf16, ACCELERATE_USE_CPU=True, PARALLELISM_CONFIG_TP_SIZE=2, "
                 "ACCELERATE_TORCH_DEVICE=cpu of the environment are not used\n  why: neither "
                 "ACCELERATE_USE_FSDP nor ACCELERATE_USE_DEEPSPEED is true"));
}

TEST_CASE("variables of accelerate that nothing here reads are told, in every spelling of a truth value") {
  const auto text = [](const Variables& variables) { return notes(parse({}, Environment(variables))); };
  for (const char* on : {"1", "true", "True", "yes", "on", "y"}) {
    INFO(on);
    CHECK(contains(notes(parse({}, fsdp({{"ACCELERATE_DEBUG_MODE", on}}))),
                   "ACCELERATE_DEBUG_MODE=" + std::string(on) + " of the environment has no effect"));
    CHECK(contains(text({{"ACCELERATE_DEBUG_MODE", on}}),
                   "ACCELERATE_DEBUG_MODE=" + std::string(on) + " of the environment is not used"));
  }
  for (const char* off : {"0", "false", "no", ""}) {
    INFO(off);
    CHECK_FALSE(contains(notes(parse({}, fsdp({{"ACCELERATE_DEBUG_MODE", off}}))), "DEBUG_MODE"));
    CHECK(text({{"ACCELERATE_DEBUG_MODE", off}}).empty());
  }
  CHECK(contains(text({{"ACCELERATE_USE_CPU", "1"}, {"ACCELERATE_CPU_AFFINITY", "1"}}),
                 "ACCELERATE_USE_CPU=1, ACCELERATE_CPU_AFFINITY=1 of the environment are not used"));
  CHECK(text({{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "1"}, {"PARALLELISM_CONFIG_DP_SHARD_SIZE", "1"}})
            .empty());
  CHECK(contains(text({{"ACCELERATE_CONFIG_DS_FIELDS", "zero_stage"}}),
                 "ACCELERATE_CONFIG_DS_FIELDS=zero_stage of the environment is not used"));
  CHECK(contains(text({{"ACCELERATE_LOG_LEVEL", "info"}}),
                 "ACCELERATE_LOG_LEVEL of the environment has no effect here"));
  CHECK(text({{"ACCELERATE_USE_XPU", "False"}}).empty());
}

TEST_CASE("of a launch by FSDP the variables of DeepSpeed are told to be unused, and the other way round") {
  const auto of_fsdp = [](const Variables& more) { return notes(parse({}, fsdp(more))); };
  CHECK(contains(
      of_fsdp({{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "3"}, {"ACCELERATE_USE_DEEPSPEED", "1"}}),
      "ACCELERATE_DEEPSPEED_ZERO_STAGE=3, ACCELERATE_USE_DEEPSPEED=1 of the environment are not used\n  "
      "why: ACCELERATE_USE_DEEPSPEED is not true"));
  CHECK_FALSE(contains(of_fsdp({{"ACCELERATE_GRADIENT_CLIPPING", "0.5"}}), "not used"));
  CHECK(contains(notes(parse({}, deepspeed({{"FSDP_VERSION", "2"}}))),
                 "FSDP_VERSION=2 of the environment is not used\n  why: ACCELERATE_USE_FSDP is not true"));
  CHECK(contains(of_fsdp({{"ACCELERATE_USE_PARALLELISM_CONFIG", "1"}}),
                 "ACCELERATE_USE_PARALLELISM_CONFIG=1 of the environment is not used"));
}

TEST_CASE("a false --use_fsdp or --use_deepspeed takes back what the environment announces") {
  const auto strategy = [](const Words& words, const Environment& environment) {
    return parse(words, environment).arguments.parallel.sharding.strategy.value;
  };
  const Environment sharded = fsdp({{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}});
  CHECK(strategy({}, sharded) == "shard_grad_op");
  CHECK_FALSE(strategy({"--use_fsdp", "false"}, sharded));
  CHECK_FALSE(strategy({"--use_deepspeed", "false"}, deepspeed({})));
  CHECK(strategy({"--use_deepspeed", "false", "--use_deepspeed"}, deepspeed({})) == "shard_grad_op");
  const std::string told = notes(parse({"--use_fsdp", "false"}, sharded));
  CHECK(contains(told, "ACCELERATE_USE_FSDP=true of the environment counts as false\n  where: command line"));
  CHECK(contains(told, "FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP of the environment are not used"));
  CHECK(notes(parse({"--use_fsdp", "false"}, Environment())).empty());
}

TEST_CASE("a variable of a launch that an argument wins over is told, where the two differ") {
  const Environment clipped = deepspeed({{"ACCELERATE_GRADIENT_CLIPPING", "0.3"}});
  const ParseOutcome given = parse({"--max_grad_norm", "0.7"}, clipped);
  CHECK(given.arguments.optimizer.max_grad_norm == 0.7);
  CHECK(
      contains(notes(given),
               "ACCELERATE_GRADIENT_CLIPPING=0.3 of the environment has no effect\n  where: command line\n  "
               "why: --max_grad_norm is given"));
  CHECK_FALSE(contains(notes(parse({"--max_grad_norm", "0.30"}, clipped)), "CLIPPING"));
  CHECK(contains(notes(parse({"--zero_stage", "3"}, deepspeed({{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "2"}}))),
                 "ACCELERATE_DEEPSPEED_ZERO_STAGE=2 of the environment has no effect"));
  CHECK(notes(parse({"--log_level", "info"}, Environment(Variables{{"TRANSFORMERS_VERBOSITY", "debug"}})))
            .empty());
}

TEST_CASE("variables of a launch have the truth values of accelerate and the numbers of Python") {
  const ParseOutcome outcome = parse({}, fsdp({{"ACCELERATE_USE_CPU", "on"},
                                               {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "1_0"},
                                               {"FSDP_OFFLOAD_PARAMS", "on"}}));
  CHECK(outcome.arguments.device.use_cpu);
  CHECK(outcome.arguments.batch.gradient_accumulation_steps == 10);
  CHECK(*outcome.arguments.parallel.sharding.offload_parameters == "cpu");
}

TEST_CASE("ACCELERATE_TORCH_DEVICE is the CPU, or every rank's own GPU") {
  CHECK(parse({}, fsdp({{"ACCELERATE_TORCH_DEVICE", "cpu"}})).arguments.device.use_cpu);
  CHECK_FALSE(parse({}, fsdp({{"ACCELERATE_TORCH_DEVICE", "cuda"}})).arguments.device.use_cpu);
  CHECK(contains(mistakes({}, fsdp({{"ACCELERATE_TORCH_DEVICE", "cuda:3"}})),
                 "ACCELERATE_TORCH_DEVICE cuda:3 is not supported\n  where: environment "
                 "ACCELERATE_TORCH_DEVICE"));
}

TEST_CASE("accumulation, clipping, affinity and the compiler of an announced launch") {
  const ParseOutcome outcome = parse({}, fsdp({{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "4"},
                                               {"ACCELERATE_GRADIENT_CLIPPING", "0.25"},
                                               {"ACCELERATE_CPU_AFFINITY", "1"},
                                               {"ACCELERATE_DYNAMO_BACKEND", "INDUCTOR"},
                                               {"ACCELERATE_DEBUG_MODE", "true"}}));
  CHECK(outcome.arguments.batch.gradient_accumulation_steps == 4);
  CHECK(outcome.arguments.optimizer.max_grad_norm == 0.25);
  CHECK(outcome.arguments.launch.enable_cpu_affinity);
  CHECK(contains(notes(outcome), "ACCELERATE_DYNAMO_BACKEND has no effect here"));
  CHECK_FALSE(contains(notes(outcome), "is used as --dynamo_backend"));
  CHECK(contains(notes(outcome), "ACCELERATE_DEBUG_MODE=true of the environment has no effect"));
}

TEST_CASE("the mesh of PARALLELISM_CONFIG_* counts when accelerate says that there is one") {
  const Variables sizes = {{"PARALLELISM_CONFIG_DP_REPLICATE_SIZE", "2"},
                           {"PARALLELISM_CONFIG_DP_SHARD_SIZE", "4"},
                           {"PARALLELISM_CONFIG_CP_SIZE", "1"},
                           {"PARALLELISM_CONFIG_CP_BACKEND", "torch"}};
  const ParseOutcome unused = parse({}, fsdp(sizes));
  CHECK_FALSE(unused.arguments.parallel.sharding.replicate_ranks);
  CHECK(contains(notes(unused), "ACCELERATE_USE_PARALLELISM_CONFIG is not true"));
  Environment mesh = fsdp(sizes);
  mesh.set("ACCELERATE_USE_PARALLELISM_CONFIG", "true");
  const ParallelOptions options = sharding({}, mesh);
  CHECK(*options.strategy == "hybrid_shard");
  CHECK(*options.replicate_ranks == 2);
  CHECK(*options.shard_ranks == 4);
  mesh.set("PARALLELISM_CONFIG_TP_SIZE", "2");
  CHECK(contains(mistakes({}, mesh), "PARALLELISM_CONFIG_TP_SIZE is not supported"));
  mesh.unset("PARALLELISM_CONFIG_TP_SIZE");
  mesh.set("FSDP_VERSION", "1");
  CHECK(contains(mistakes({}, mesh), "parallelism_config needs fsdp_version 2"));
}

TEST_CASE("NVMe folders and layer names of ACCELERATE_DEEPSPEED_* are read") {
  const ParallelOptions options =
      sharding({}, deepspeed({{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "3"},
                              {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "nvme"},
                              {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", "/fast"}}));
  CHECK(*options.offload_optimizer == "nvme");
  CHECK(*options.optimizer_path == "/fast");
  CHECK(contains(mistakes({}, deepspeed({{"ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES", "Experts"}})),
                 "ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES is not supported"));
}

TEST_CASE("D4 holds for the fields that ACCELERATE_CONFIG_DS_FIELDS names") {
  const testing::TemporaryDirectory folder;
  const std::string path = write(folder / "ds.json", R"({"zero_optimization": {"stage": 2}})");
  Environment environment =
      deepspeed({{"ACCELERATE_DEEPSPEED_CONFIG_FILE", path},
                 {"ACCELERATE_CONFIG_DS_FIELDS", "deepspeed_config_file,zero3_init_flag"}});
  CHECK(*sharding({}, environment).strategy == "shard_grad_op");
  environment.set("ACCELERATE_CONFIG_DS_FIELDS", "deepspeed_config_file,zero_stage,mixed_precision");
  CHECK(contains(mistakes({}, environment),
                 "these keys cannot stand: zero_stage, mixed_precision\n  where: "
                 "environment ACCELERATE_CONFIG_DS_FIELDS"));
}

TEST_CASE("every flag of torchrun can come from PET_") {
  const ParseOutcome outcome = parse({}, Environment(Variables{{"PET_SIGNALS_TO_HANDLE", "SIGTERM"},
                                                               {"PET_NUMA_BINDING", "node"},
                                                               {"PET_MONITOR_INTERVAL", "5"}}));
  CHECK(outcome.arguments.launch.signals_to_handle == "SIGTERM");
  CHECK(outcome.arguments.launch.numa_binding == "node");
  CHECK(contains(notes(outcome), "PET_MONITOR_INTERVAL has no effect here"));
  CHECK(contains(mistakes({}, Environment(Variables{{"PET_MODULE", "1"}})), "PET_MODULE is not supported"));
}

TEST_CASE("a TRANSFORMERS_VERBOSITY that is no level is told, and ends nothing") {
  const Environment variable(Variables{{"TRANSFORMERS_VERBOSITY", "loud"}});
  const ParseOutcome outcome = parse({}, variable);
  CHECK(outcome.arguments.logging.log_level == "passive");
  CHECK(contains(notes(outcome), "TRANSFORMERS_VERBOSITY=loud of the environment has no effect"));
  CHECK(parse({}, Environment(Variables{{"TRANSFORMERS_VERBOSITY", "ERROR"}})).arguments.logging.log_level ==
        "error");
}

TEST_CASE("TRANSFORMERS_VERBOSITY is named where it counts, also where a level says passive itself") {
  const Environment variable(Variables{{"TRANSFORMERS_VERBOSITY", "error"}});
  const std::string used = "TRANSFORMERS_VERBOSITY=error of the environment is used as --log_level";
  CHECK(notes(parse({}, variable)) == used + '\n');
  CHECK(contains(notes(parse({"--log_level", "passive"}, variable)), used));
  CHECK(notes(parse({"--log_level", "info"}, variable)).empty());
  CHECK(contains(notes(parse({"--log_level", "info", "--log_level_replica", "passive"}, variable)),
                 used + "_replica"));
  CHECK(notes(parse({"--log_level", "passive"})).empty());
}

TEST_CASE("HF_DATASETS_CACHE is said not to count") {
  CHECK(contains(notes(parse({}, Environment(Variables{{"HF_DATASETS_CACHE", "/sets"}}))),
                 "HF_DATASETS_CACHE of the environment has no effect here\n  why: it holds tables that "
                 "Python made; data sets by name lie in the hub cache"));
}

TEST_CASE("TRANSFORMERS_NO_ADVISORY_WARNINGS hides the advice about old names") {
  CHECK(contains(notes(parse({"--no_cuda"})), "is an old name"));
  const Environment quiet(Variables{{"TRANSFORMERS_NO_ADVISORY_WARNINGS", "1"}});
  CHECK_FALSE(contains(notes(parse({"--no_cuda"}, quiet)), "is an old name"));
  CHECK(contains(notes(parse({"--no_cuda"}, quiet)),
                 "TRANSFORMERS_NO_ADVISORY_WARNINGS=1 of the environment hides a warning about old names"));
  CHECK(notes(parse({}, quiet)).empty());
}

TEST_CASE("FSDP_* that no launch has announced are said to be unused, as is a launch in the wrong words") {
  const auto text = [](const Variables& variables) { return notes(parse({}, Environment(variables))); };
  CHECK(contains(text({{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}, {"FSDP_VERSION", "2"}}),
                 "FSDP_VERSION=2, FSDP_SHARDING_STRATEGY=SHARD_GRAD_OP of the environment are not used"));
  CHECK(contains(text({{"FSDP_SHARDING_STRATEGY", "1"}}),
                 "FSDP_SHARDING_STRATEGY=1 of the environment is not used"));
  CHECK(
      contains(text({{"ACCELERATE_USE_FSDP", "1"}}), "ACCELERATE_USE_FSDP=1 of the environment is not used"));
  CHECK(text({{"ACCELERATE_USE_FSDP", "false"}, {"FSDP_OFFLOAD_PARAMS", "false"}}).empty());
}

TEST_CASE("a variable of env: that stands for a flag is warned of, and what counts from there is not") {
  const auto text = [](const std::string& variable) {
    return NamedFile("--config", "run.yaml", "env:\n  " + variable + '\n').notes();
  };
  for (const char* variable :
       {"ACCELERATE_USE_FSDP: 'true'", "FSDP_SHARDING_STRATEGY: '1'", "PET_NPROC_PER_NODE: '2'",
        "TRANSFORMERS_VERBOSITY: error", "ACCELERATE_MIXED_PRECISION: bf16",
        "PARALLELISM_CONFIG_TP_SIZE: '2'", "ACCELERATE_DEEPSPEED_ZERO_STAGE: '3'",
        "TRANSFORMERS_NO_ADVISORY_WARNINGS: '1'"}) {
    INFO(variable);
    CHECK(contains(text(variable), "does nothing to this run"));
  }
  for (const char* variable : {"DS_ENV_FILE: /e", "HFTRAIN_SSH: rsh"})
    CHECK(contains(text(variable), "it counts where hftrain is started"));
  for (const char* variable : {"RANK: '1'", "LOCAL_RANK: '1'", "WORLD_SIZE: '2'", "LOCAL_WORLD_SIZE: '2'",
                               "MASTER_ADDR: a", "MASTER_PORT: '1'", "HFTRAIN_ATTEMPT: '3'"})
    CHECK(contains(text(variable), "every rank is given its own"));
  // Nor is it set, so that nothing can take it up later by half.
  const NamedFile file("--config", "run.yaml",
                       "env:\n  TRANSFORMERS_VERBOSITY: error\n  RANK: '1'\n  MINE: x\n");
  CHECK(file.outcome().exported_environment == Variables{{"MINE", "x"}});
  CHECK(contains(text("PET_NPROC_PER_NODE: '2'"), "or use --nproc_per_node"));
  for (const char* variable : {"TENSORBOARD_LOGGING_DIR: /t", "OMP_NUM_THREADS: '2'", "HFTRAIN_CACHE: /c",
                               "NCCL_DEBUG: INFO", "MINE: x"}) {
    INFO(variable);
    CHECK(text(variable).empty());
  }
}

}  // namespace hftrain::arguments
