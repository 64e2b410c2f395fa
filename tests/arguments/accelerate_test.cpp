// Accelerate configuration files.
#include "hftrain/arguments/import/accelerate.h"
#include "hftrain/arguments/print_config.h"

#include "support.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

// An Accelerate file written by the test, and the command line that names it.
struct AccelerateFile : NamedFile {
  explicit AccelerateFile(const std::string& text) : NamedFile("--config", "acc.yaml", text) {}
};

// What `accelerate config` writes around every kind of run.
std::string usual(const std::string& kind, const std::string& more) {
  return "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: " + kind +
         "\ndowncast_bf16: 'no'\nmachine_rank: 0\nmain_training_function: main\nnum_machines: 1\n"
         "rdzv_backend: static\nsame_network: true\ntpu_env: []\ntpu_use_cluster: false\ntpu_use_sudo: "
         "false\n"
         "use_cpu: false\n" +
         more;
}

const char* const kInline = R"(deepspeed_config:
  gradient_accumulation_steps: 4
  gradient_clipping: 0.5
  offload_optimizer_device: cpu
  offload_optimizer_nvme_path: none
  offload_param_device: cpu
  offload_param_nvme_path: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
mixed_precision: bf16
num_processes: 2
)";

}  // namespace

TEST_CASE("a plain file of several ranks, with the keys that mean nothing here") {
  const AccelerateFile file(usual("MULTI_CPU", "mixed_precision: bf16\nnum_processes: 4\n"));
  const ParseOutcome outcome = file.outcome();
  CHECK(outcome.arguments.launch.nproc_per_node == "4");
  CHECK(outcome.arguments.device.use_cpu);
  CHECK(outcome.arguments.precision.bf16);
  CHECK(outcome.origins.of("bf16") == file.at("14:18"));
  CHECK(notes(outcome).empty());
  CHECK(file.arguments().precision.bf16);
  // A word of the command line against it.
  const ParseOutcome refused = file.outcome({"--bf16", "false"});
  CHECK_FALSE(refused.arguments.precision.bf16);
  CHECK(contains(notes(refused), "the flags fp16 and bf16 win over mixed_precision bf16"));
}

TEST_CASE("ZeRO by keys inside the file") {
  const AccelerateFile file(usual("DEEPSPEED", kInline));
  const ParseOutcome outcome = file.outcome();
  const Arguments& a = outcome.arguments;
  CHECK(*a.parallel.sharding.strategy == "full_shard");
  CHECK(*a.parallel.sharding.offload_optimizer == "cpu");
  CHECK(*a.parallel.sharding.offload_parameters == "cpu");
  CHECK(*a.parallel.sharding.state_dict == "full");
  CHECK_FALSE(a.parallel.sharding.optimizer_path);
  CHECK(a.parallel.sharding.strategy.origin == file.at("23:15"));
  CHECK(a.batch.gradient_accumulation_steps == 4);
  CHECK(a.optimizer.max_grad_norm == 0.5);
  CHECK(a.precision.bf16);
  CHECK(a.launch.nproc_per_node == "2");
}

TEST_CASE("the command line wins over keys of a section, except where both must agree") {
  const AccelerateFile file(usual("DEEPSPEED", kInline));
  const Arguments a = file.arguments({"--zero_stage", "2", "--offload_param_device", "none", "--fp16"});
  CHECK(*a.parallel.sharding.strategy == "shard_grad_op");
  CHECK(*a.parallel.sharding.offload_parameters == "none");
  CHECK(a.precision.fp16);
  CHECK_FALSE(a.precision.bf16);
  const std::string text = file.mistakes({"--gradient_accumulation_steps", "8", "--max_grad_norm", "1"});
  CHECK(contains(text,
                 "gradient_accumulation_steps of the Accelerate file and gradient_accumulation_steps differ\n"
                 "  where: " +
                     file.at("15:32") +
                     ", --gradient_accumulation_steps (command line)\n  why: 4 against 8"));
  CHECK(contains(text, "gradient_clipping and max_grad_norm differ\n  where: " + file.at("16:22")));
  CHECK(file.mistakes({"--gradient_accumulation_steps", "4", "--max_grad_norm", "0.5"}).empty());
}

TEST_CASE("later configuration files win over the Accelerate file in any order") {
  const AccelerateFile file(usual("MULTI_CPU", "num_processes: 4\nmixed_precision: fp16\n"));
  const std::string yaml = write(file.folder / "run.yaml", "bf16: true\nnproc_per_node: 2\n");
  for (const Words& words : {Words{"--config", yaml, file.path}, Words{"--config", file.path, yaml}}) {
    const Arguments a = parse(words).arguments;
    CHECK(a.launch.nproc_per_node == "2");
    CHECK(a.precision.bf16);
    CHECK_FALSE(a.precision.fp16);
  }
}

TEST_CASE("DeepSpeed by file, over two machines") {
  const testing::TemporaryDirectory folder;
  const std::string json = write(folder / "ds.json", "{\"zero_optimization\": {\"stage\": 1}}");
  const std::string section = "deepspeed_config:\n  deepspeed_config_file: " + json +
                              "\n  deepspeed_hostfile: hostfile\n  deepspeed_multinode_launcher: standard\n"
                              "  zero3_init_flag: false\n";
  const AccelerateFile one("distributed_type: DEEPSPEED\nnum_processes: 8\n" + section);
  CHECK(*one.arguments().parallel.sharding.strategy == "zero1");
  const AccelerateFile two(
      "distributed_type: DEEPSPEED\nnum_machines: 2\nmachine_rank: 1\nnum_processes: 8\n"
      "main_process_ip: 10.0.0.5\nmain_process_port: 29501\n" +
      section);
  const ParseOutcome outcome = two.outcome();
  CHECK(*outcome.arguments.parallel.sharding.strategy == "zero1");
  const LaunchArguments& launch = outcome.arguments.launch;
  CHECK(launch.nproc_per_node == "4");
  CHECK(launch.nnodes == "2");
  CHECK(launch.node_rank == 1);
  CHECK(launch.master_addr == "10.0.0.5");
  CHECK(launch.master_port == 29501);
  CHECK(launch.hostfile == "hostfile");
  CHECK(launch.no_ssh);  // the launcher is standard: every machine is started by hand
  CHECK(two.arguments({"--num_machines", "4"}).launch.nproc_per_node == "2");
}

TEST_CASE(
    "keys about several machines are told to do nothing on one, but for those that are always written") {
  const std::string start = "distributed_type: DEEPSPEED\nnum_processes: 2\n";
  const auto told = [&](const std::string& more) { return AccelerateFile(start + more).notes(); };
  CHECK(contains(told("main_process_ip: 10.0.0.5\n"), "main_process_ip has no effect\n  where: "));
  CHECK(contains(told("main_process_ip: 10.0.0.5\n"), "why: num_machines is 1"));
  CHECK(contains(told("rdzv_backend: c10d\n"), "rdzv_backend has no effect"));
  for (const std::string key : {"deepspeed_hostfile: hosts", "deepspeed_exclusion_filter: a:0",
                                "deepspeed_inclusion_filter: a:0", "deepspeed_multinode_launcher: pdsh"}) {
    INFO(key);
    CHECK(contains(told("deepspeed_config:\n  " + key + '\n'),
                   key.substr(0, key.find(':')) + " has no effect"));
  }
  CHECK(contains(told("mpirun_config:\n  hostfile: hosts\n"), "hostfile has no effect"));
  CHECK(told("machine_rank: 0\nrdzv_backend: static\nsame_network: true\ndeepspeed_config:\n"
             "  deepspeed_multinode_launcher: standard\n")
            .empty());
}

TEST_CASE(
    "beside a host file of the command line the machines are those of the file, and no key is told idle") {
  const AccelerateFile file("distributed_type: MULTI_CPU\nnum_processes: 2\nmain_process_ip: 10.0.0.5\n");
  const ParseOutcome outcome = file.outcome({"--hostfile", "hosts"});
  CHECK(outcome.arguments.launch.master_addr == "10.0.0.5");
  CHECK_FALSE(contains(notes(outcome), "main_process_ip"));
}

TEST_CASE("the port of the main process counts on one machine, and the command line may add machines") {
  const AccelerateFile file(
      "distributed_type: MULTI_CPU\nnum_processes: 4\nmachine_rank: 1\nmain_process_ip: 10.0.0.5\n"
      "main_process_port: 29501\n");
  CHECK(contains(file.mistakes(), "node_rank 1 is not one of 1 machine"));
  const ParseOutcome two = file.outcome({"--num_machines", "2"});
  CHECK(two.arguments.launch.node_rank == 1);
  CHECK(two.arguments.launch.master_addr == "10.0.0.5");
  CHECK(two.arguments.launch.nproc_per_node == "2");
  const AccelerateFile alone("distributed_type: MULTI_CPU\nnum_processes: 2\nmain_process_port: 29501\n");
  CHECK(alone.outcome().arguments.launch.master_port == 29501);
  CHECK(alone.outcome().origins.of("master_port") == alone.at("3:20"));
  CHECK(alone.arguments({"--main_process_port", "29502"}).launch.master_port == 29502);
}

TEST_CASE("D4: what the DeepSpeed file says cannot stand beside it") {
  const AccelerateFile file(
      "distributed_type: DEEPSPEED\nnum_processes: 2\nmixed_precision: bf16\ndeepspeed_config:\n"
      "  deepspeed_config_file: ds.json\n  zero_stage: 3\n  gradient_clipping: 1.0\n");
  const std::string text = file.mistakes();
  CHECK(contains(text, "beside deepspeed_config_file these keys cannot stand: gradient_clipping (" +
                           file.at("7:22") + "), zero_stage (" + file.at("6:15") + "), mixed_precision (" +
                           file.at("3:18") + ")"));
  CHECK(contains(text, "where: " + file.at("5:26")));
}

TEST_CASE("D6: another DeepSpeed file on the command line is a conflict") {
  const testing::TemporaryDirectory folder;
  const std::string first = write(folder / "a.json", "{\"zero_optimization\": {\"stage\": 1}}");
  const std::string second = write(folder / "b.json", "{\"zero_optimization\": {\"stage\": 2}}");
  const AccelerateFile file(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  deepspeed_config_file: " + first +
      "\n");
  CHECK(contains(
      file.mistakes({"--deepspeed", second}),
      "deepspeed_config_file of the Accelerate file and deepspeed differ\n  where: " + file.at("4:26") +
          ", --deepspeed (command line)\n  why: " + first + " against " + second));
  CHECK(file.mistakes({"--deepspeed", first}).empty());
  CHECK(file.mistakes({"--deepspeed", folder.path() + "/./a.json"}).empty());
  CHECK(file.mistakes({"--deepspeed", R"({"zero_optimization":{"stage":1}})"}).empty());
}

TEST_CASE("an FSDP section in both spellings of its keys") {
  const AccelerateFile file(usual("FSDP", R"(num_processes: 4
mixed_precision: bf16
fsdp_config:
  fsdp_version: 1
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  cpu_ram_efficient_loading: true
  fsdp_offload_params: true
  fsdp_sharding_strategy: 1
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_transformer_layer_cls_to_wrap: GPT2Block
)"));
  const ParallelOptions sharding = file.arguments().parallel.sharding;
  CHECK(*sharding.strategy == "full_shard");
  CHECK(*sharding.offload_parameters == "cpu");
  CHECK(*sharding.layer_classes == Words{"GPT2Block"});
  CHECK(*sharding.state_dict == "sharded");
  CHECK(*sharding.backward_prefetch == "pre");
  CHECK(contains(AccelerateFile(usual("FSDP", "num_processes: 2\nfsdp_config:\n  fsdp_ofload_params: true\n"))
                     .mistakes(),
                 "unknown key 'fsdp_ofload_params' of fsdp_config"));
}

TEST_CASE("the kind of run on the command line wins over distributed_type") {
  const AccelerateFile file(usual("DEEPSPEED", "num_processes: 2\n"));
  CHECK(*file.arguments().parallel.sharding.strategy == "shard_grad_op");
  CHECK(*file.arguments({"--use_fsdp"}).parallel.sharding.strategy == "full_shard");
  CHECK_FALSE(file.arguments({"--multi_gpu"}).parallel.sharding.strategy);
}

TEST_CASE("the kind of run on the command line wins over deepspeed_config, too, and that is told") {
  const AccelerateFile file(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  zero_stage: 3\n"
      "  gradient_accumulation_steps: 4\n  gradient_clipping: 0.5\n");
  const ParseOutcome plain = file.outcome({"--multi_gpu"});
  CHECK_FALSE(plain.arguments.parallel.sharding.strategy);
  CHECK(plain.arguments.batch.gradient_accumulation_steps == 1);
  CHECK(plain.arguments.optimizer.max_grad_norm == 1.0);
  CHECK(contains(notes(plain), "deepspeed_config has no effect\n  where: " + file.at("4:15") +
                                   "\n  why: --multi_gpu wins over the file's distributed_type"));
  CHECK(*file.arguments({"--use_fsdp"}).parallel.sharding.strategy == "full_shard");
  CHECK(*file.arguments({"--use_deepspeed"}).parallel.sharding.strategy == "full_shard");
  CHECK_FALSE(contains(file.notes({"--use_deepspeed"}), "has no effect"));
}

TEST_CASE("two spellings of one key in a section are refused with both places") {
  const AccelerateFile file(
      "distributed_type: FSDP\nnum_processes: 2\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n"
      "  fsdp_sharding_strategy: SHARD_GRAD_OP\n");
  const std::string text = file.mistakes();
  CHECK(contains(text, "fsdp_config has both 'fsdp_sharding_strategy' and 'sharding_strategy'"));
  CHECK(contains(text, file.at("4:22")));
  CHECK(contains(text, file.at("5:27")));
  CHECK(contains(AccelerateFile(usual("FSDP",
                                      "num_processes: 2\nfsdp_config:\n  fsdp_backward_prefetch: "
                                      "BACKWARD_PRE\n  fsdp_backward_prefetch_policy: NO_PREFETCH\n"))
                     .mistakes(),
                 "has both 'fsdp_backward_prefetch' and 'fsdp_backward_prefetch_policy'"));
}

TEST_CASE("what has no effect is told once, and not where it is off") {
  const std::string told = AccelerateFile(usual("FSDP",
                                                "num_processes: 2\nfsdp_config:\n"
                                                "  fsdp_use_orig_params: false\n"
                                                "dynamo_config:\n  dynamo_backend: 'NO'\n"))
                               .notes();
  CHECK(contains(told, "use_orig_params false has no effect here"));
  CHECK_FALSE(contains(told, "always so"));
  CHECK_FALSE(contains(told, "dynamo_backend"));
}

TEST_CASE("a section of another kind of run is warned of") {
  const AccelerateFile file(
      usual("MULTI_CPU", "num_processes: 2\nfsdp_config:\n  fsdp_offload_params: true\n"));
  const ParseOutcome outcome = file.outcome();
  CHECK_FALSE(outcome.arguments.parallel.sharding.strategy);
  CHECK(contains(notes(outcome), "fsdp_config has no effect\n  where: " + file.at("16:3")));
}

TEST_CASE("L1: unknown keys, missing files and kinds that are not ours") {
  const std::string all = AccelerateFile(
                              "distributed_type: FSDP\nfsdp_config:\n  fsdp_versio: 2\nmixd_precision: bf16\n"
                              "num_machines: [2]\n")
                              .mistakes();
  CHECK(contains(all, "unknown key 'mixd_precision'"));
  CHECK(contains(all, "unknown key 'fsdp_versio'"));
  CHECK(contains(all, "num_machines: a list stands here"));
  const AccelerateFile unknown("distributed_type: MULTI_GPU\nnum_proceses: 2\nipex_config: {}\n");
  const std::string text = unknown.mistakes();
  CHECK(contains(text, "unknown key 'num_proceses' of an Accelerate file\n  where: " + unknown.at("2:15") +
                           "\n  why: accelerate has no such key there\n  try: did you mean num_processes"));
  CHECK(contains(text, "unknown key 'ipex_config'"));
  CHECK_FALSE(contains(text, "a mapping stands here"));  // one mistake is told once
  const std::string section =
      AccelerateFile(
          "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n  zero_stag: 3\n"
          "  offload_param_device: cpu\n")
          .mistakes();
  CHECK(contains(section, "did you mean zero_stage?"));
  CHECK(section.find("error: ", 1) == std::string::npos);  // and nothing that follows from it
  CHECK(contains(mistakes({"--config_file", "/nowhere/acc.yaml"}), "/nowhere/acc.yaml"));
  const std::string sagemaker =
      AccelerateFile("compute_environment: AMAZON_SAGEMAKER\ndistributed_type: 'NO'\niam_role_name: x\n")
          .mistakes();
  CHECK(contains(sagemaker, "compute_environment AMAZON_SAGEMAKER is not supported"));
  CHECK_FALSE(contains(sagemaker, "iam_role_name"));
  CHECK(
      contains(AccelerateFile("compute_environment: LOCAL_MACHINE\n").mistakes(), "needs distributed_type"));
  CHECK(
      contains(AccelerateFile("distributed_type: MEGATRON_LM\n").mistakes(), "there is no Megatron-LM here"));
  CHECK(contains(AccelerateFile("distributed_type: XLA\n").mistakes(), "there is no such hardware here"));
  CHECK(
      contains(AccelerateFile("distributed_type: GPUS\n").mistakes(), "distributed_type 'GPUS' is unknown"));
  CHECK(contains(AccelerateFile(usual("MULTI_GPU", "num_processes: 2\nmixed_precision: fp8\n")).mistakes(),
                 "mixed_precision fp8 is not supported"));
  CHECK(
      contains(AccelerateFile(usual("MULTI_GPU", "num_processes: 2\nfp8_config: {backend: TE}\n")).mistakes(),
               "fp8_config is not supported"));
}

TEST_CASE("an unknown key is refused with a reason and with what to do, also one of older releases") {
  const auto told = [](const std::string& key) {
    return AccelerateFile("distributed_type: MULTI_CPU\nnum_processes: 2\n" + key).mistakes();
  };
  CHECK(contains(told("ipex_config:\n  ipex: true\n"), "why: accelerate gave up Intel's extension"));
  CHECK(contains(told("tp_config: {}\n"), "why: accelerate gave it up for parallelism_config"));
  CHECK(contains(told("use_mps_device: false\n"), "there is no Apple hardware here\n  try: leave it out"));
  CHECK(contains(told("dynamo_config:\n  whatever: 1\n"),
                 "why: accelerate has no such key there\n  try: leave it out"));
  CHECK(contains(told("whatever: 1\n"), "why: accelerate has no such key there\n  try: leave it out"));
}

TEST_CASE("a key of another section of an Accelerate file is refused with the section that has it") {
  const auto told = [](const std::string& keys, const std::string& where) {
    return contains(AccelerateFile("distributed_type: FSDP\nnum_processes: 2\n" + keys).mistakes(),
                    "why: accelerate has no such key there\n  try: " + where);
  };
  CHECK(told("fsdp_sharding_strategy: FULL_SHARD\n", "fsdp_sharding_strategy belongs in fsdp_config"));
  CHECK(told("sharding_strategy: FULL_SHARD\n", "sharding_strategy belongs in fsdp_config"));
  CHECK(told("zero_stage: 2\n", "zero_stage belongs in deepspeed_config"));
  CHECK(told("fsdp_config:\n  mixed_precision: bf16\n", "mixed_precision belongs at the top level"));
  CHECK(told("dynamo_config:\n  dp_shard_size: 2\n", "dp_shard_size belongs in parallelism_config"));
  CHECK_FALSE(told("config: x\n", "config belongs"));
}

TEST_CASE("auto in deepspeed_config leaves accumulation and clipping to the Trainer's arguments") {
  const AccelerateFile file(usual("DEEPSPEED", R"(deepspeed_config:
  gradient_accumulation_steps: auto
  gradient_clipping: auto
  zero_stage: 2
num_processes: 2
)"));
  CHECK(file.mistakes().empty());
  const Arguments a = file.arguments({"--gradient_accumulation_steps", "3", "--max_grad_norm", "0.3"});
  CHECK(a.batch.gradient_accumulation_steps == 3);
  CHECK(a.optimizer.max_grad_norm == 0.3);
  CHECK(file.arguments().batch.gradient_accumulation_steps == 1);
}

TEST_CASE("a list or a mapping where a value belongs is a mistake with its place, for every key") {
  const std::string start = "distributed_type: DEEPSPEED\n";
  for (const char* key : {"mixed_precision", "use_cpu", "gpu_ids", "enable_cpu_affinity",
                          "main_training_function", "main_process_ip", "main_process_port", "rdzv_backend",
                          "machine_rank", "same_network", "compute_environment", "num_processes",
                          "num_machines", "debug", "fp16", "dynamo_backend", "downcast_bf16", "tpu_name"}) {
    INFO(key);
    for (const std::string value : {"[[0]]", "{a: 1}"}) {
      const AccelerateFile file(start + key + ": " + value + '\n');
      CHECK(contains(file.mistakes(), std::string(key) + ": a "));
      CHECK(contains(file.mistakes(), file.at("2:")));
    }
    if (std::string(key) == "gpu_ids" || std::string(key) == "tpu_name" ||
        std::string(key) == "downcast_bf16")
      continue;
    CHECK(contains(AccelerateFile(start + key + ": [4]\n").mistakes(), "it takes one value"));
  }
  for (const char* kind : {"[NO]", "{a: 1}"}) {
    const AccelerateFile file(std::string("distributed_type: ") + kind + '\n');
    CHECK(contains(file.mistakes(), "distributed_type: a "));
  }
  for (const char* key :
       {"deepspeed_config_file", "zero_stage", "gradient_accumulation_steps", "gradient_clipping",
        "offload_optimizer_device", "offload_param_device", "offload_optimizer_nvme_path",
        "offload_param_nvme_path", "zero3_init_flag", "zero3_save_16bit_model", "deepspeed_hostfile",
        "deepspeed_exclusion_filter", "deepspeed_inclusion_filter", "deepspeed_multinode_launcher",
        "deepspeed_moe_layer_cls_names"}) {
    INFO(key);
    for (const std::string value : {"[]", "[4]", "{a: 1}"}) {
      const AccelerateFile file(start + "deepspeed_config:\n  " + key + ": " + value + '\n');
      CHECK(contains(file.mistakes({"--gradient_accumulation_steps", "2"}), file.at("3:")));
    }
  }
  for (const char* section : {"fsdp_config", "dynamo_config", "parallelism_config", "deepspeed_config"}) {
    const AccelerateFile file(start + section + ": [4]\n");
    CHECK(contains(file.mistakes(), std::string(section) + " is not a mapping"));
  }
}

TEST_CASE("an invalid value of the file is told once, not as a difference too") {
  const AccelerateFile file(
      "distributed_type: DEEPSPEED\nnum_processes: 1\ndeepspeed_config:\n  gradient_accumulation_steps: "
      "many\n");
  const std::string text = file.mistakes({"--gradient_accumulation_steps", "2"});
  CHECK(contains(text, "many"));
  CHECK_FALSE(contains(text, "differ"));
}

TEST_CASE("fp16 of an old file is a truth value in any spelling") {
  const auto precision = [](const std::string& word) {
    return AccelerateFile("distributed_type: 'NO'\nfp16: " + word + '\n').arguments().precision.fp16;
  };
  for (const char* word : {"true", "True", "TRUE", "yes", "on", "y", "1"}) {
    INFO(word);
    CHECK(precision(word));
  }
  for (const char* word : {"false", "False", "no", "off", "n", "0", "null"}) {
    INFO(word);
    CHECK_FALSE(precision(word));
  }
  const auto beside = [](const std::string& word) {
    return AccelerateFile("distributed_type: 'NO'\nfp16: true\nmixed_precision: " + word + '\n').notes();
  };
  CHECK(contains(beside("bf16"), "fp16 has no effect\n"));
  CHECK(contains(beside("bf16"), "why: mixed_precision is bf16"));
  CHECK(contains(beside("'no'"), "why: mixed_precision is no"));
  CHECK(beside("fp16").empty());
  const AccelerateFile odd("distributed_type: 'NO'\nfp16: perhaps\n");
  CHECK(contains(odd.mistakes(), "perhaps"));
  CHECK(contains(odd.mistakes(), odd.at("2:7")));
}

TEST_CASE("L2 and L3: one kind of run, and several ranks for multi_gpu") {
  CHECK(contains(mistakes({"--multi_gpu", "--use_fsdp"}), "multi_gpu and use_fsdp exclude each other"));
  CHECK(contains(mistakes({"--use_deepspeed", "--use_fsdp"}), "fsdp and deepspeed exclude each other"));
  CHECK(contains(mistakes({"--multi_gpu", "--cpu"}), "multi_gpu and use_cpu exclude each other"));
  for (const std::string other : {"use_fsdp", "use_deepspeed"}) {
    CHECK(contains(mistakes({"--cpu", "--" + other}), "cpu and " + other + " exclude each other"));
    CHECK(mistakes({"--use_cpu", "--" + other}).empty());
  }
  // A file of that kind runs on the CPU.
  CHECK(AccelerateFile(usual("FSDP", "num_processes: 2\n")).outcome({"--cpu"}).arguments.device.use_cpu);
  CHECK(contains(mistakes({"--multi_gpu", "--num_processes", "1"}), "multi_gpu needs 2 ranks or more"));
  CHECK(contains(AccelerateFile(usual("MULTI_GPU", "num_processes: 1\n")).mistakes(),
                 "distributed_type MULTI_GPU needs num_processes of 2 or more"));
}

TEST_CASE("distributed_type NO is one process, whatever num_processes says, and that is told") {
  const AccelerateFile file(usual("'NO'", "num_processes: 8\n"));
  const ParseOutcome outcome = file.outcome();
  CHECK(outcome.arguments.launch.nproc_per_node == "1");
  CHECK(contains(notes(outcome), "num_processes has no effect\n  where: " + file.at("14:16") +
                                     "\n  why: distributed_type NO is one process"));
  CHECK(AccelerateFile(usual("NO", "")).arguments().launch.nproc_per_node == "1");
  CHECK(notes(AccelerateFile(usual("NO", "num_processes: 1\n")).outcome()).empty());
}

TEST_CASE("num_processes -1, or none, asks for it on the command line, as for accelerate launch") {
  const AccelerateFile open(usual("MULTI_CPU", "num_processes: -1\n"));
  const AccelerateFile silent(usual("FSDP", "mixed_precision: bf16\n"));
  CHECK(contains(
      open.mistakes(),
      "num_processes -1 leaves the number of ranks to the command line\n  where: " + open.at("14:16")));
  CHECK(contains(
      silent.mistakes(),
      "the Accelerate file has no num_processes, which leaves the number of ranks to the command line"));
  for (const AccelerateFile* file : {&open, &silent}) {
    CHECK(contains(file->mistakes(), "try: --num_processes N"));
    for (const Words& words : {Words{"--num_processes", "4"}, Words{"--nproc_per_node", "4"}})
      CHECK(file->arguments(words).launch.nproc_per_node == "4");
    for (const Words& words : {Words{"--cpu_ranks", "2"}, Words{"--hostfile", "hosts"}, Words{"--smoke"},
                               Words{"--machines", "4x16cores-64GiB"}})
      CHECK(!file->arguments(words).launch.nproc_per_node);
    CHECK(contains(file->mistakes({"--smoke", "false"}), "leaves the number of ranks"));
    CHECK(contains(notes(file->outcome({"--print_config"})), "leaves the number of ranks"));
  }
}

TEST_CASE("where a launcher has started the ranks, an Accelerate file need not say how many there are") {
  const AccelerateFile open(usual("MULTI_CPU", "num_processes: -1\n")), silent(usual("MULTI_CPU", ""));
  const auto started = [](std::map<std::string, std::string> variables) { return Environment(variables); };
  for (const Environment& environment :
       {started({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), started({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
        started({{"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}})}) {
    for (const AccelerateFile* file : {&open, &silent})
      CHECK_FALSE(contains(notes(parse(file->with(), environment)), "num_processes"));
    Words alone = open.with();
    alone.emplace_back("--standalone");
    CHECK(contains(mistakes(alone, environment), "num_processes -1"));
  }
  CHECK(
      contains(mistakes(open.with(), started({{"SLURM_STEP_TASKS_PER_NODE", "1(x4)"}})), "num_processes -1"));
}

TEST_CASE("keys of a TPU and the debug mode are said to have no effect") {
  const AccelerateFile file(
      "distributed_type: 'NO'\ntpu_name: one\ntpu_use_sudo: true\ncommand_file: a.sh\ntpu_env: [A=1]\n"
      "downcast_bf16: 'yes'\ndebug: true\n");
  const std::string text = file.notes();
  for (const char* key : {"tpu_name", "tpu_use_sudo", "command_file", "tpu_env", "downcast_bf16", "debug"})
    CHECK(contains(text, std::string(key) + " has no effect"));
  CHECK(notes(AccelerateFile("distributed_type: 'NO'\ndebug: false\ntpu_env: []\ncommands: null\n").outcome())
            .empty());
}

TEST_CASE("L6 and L9: processes divide by machines, and this machine is one of them") {
  CHECK(
      contains(AccelerateFile("distributed_type: MULTI_GPU\nnum_processes: 7\nnum_machines: 2\n").mistakes(),
               "num_processes does not divide by num_machines"));
  CHECK(contains(
      AccelerateFile("distributed_type: MULTI_GPU\nnum_processes: 8\nnum_machines: 2\nmachine_rank: 2\n")
          .mistakes(),
      "machine_rank 2 is not one of 2 machines"));
  CHECK(contains(AccelerateFile("distributed_type: MULTI_GPU\nnum_processes: two\n").mistakes(),
                 "num_processes: 'two' is not a whole number"));
}

TEST_CASE("gpu_ids become the mask, inside the one that is there") {
  const AccelerateFile file(usual("MULTI_GPU", "num_processes: 2\ngpu_ids: 0,2\n"));
  CHECK(file.outcome().exported_environment.at("CUDA_VISIBLE_DEVICES") == "0,2");
  Environment masked;
  masked.set("CUDA_VISIBLE_DEVICES", "4,5,6");
  CHECK(parse(file.with(), masked).exported_environment.at("CUDA_VISIBLE_DEVICES") == "4,6");
  Environment narrow;
  narrow.set("CUDA_VISIBLE_DEVICES", "4");
  CHECK(contains(mistakes(file.with(), narrow), "gpu_ids: there is no GPU '2'"));
  CHECK(AccelerateFile(usual("MULTI_GPU", "num_processes: 2\ngpu_ids: all\n"))
            .outcome()
            .exported_environment.empty());
  CHECK(parse({"--gpu_ids", "1"}).exported_environment.at("CUDA_VISIBLE_DEVICES") == "1");
}

TEST_CASE("mixed precision of a launch gives way to the flags fp16 and bf16") {
  CHECK(parse({"--mixed_precision", "bf16"}).arguments.precision.bf16);
  CHECK_FALSE(parse({"--mixed_precision", "no"}).arguments.precision.bf16);
  const ParseOutcome outcome = parse({"--mixed_precision", "fp16", "--bf16"});
  CHECK(outcome.arguments.precision.bf16);
  CHECK_FALSE(outcome.arguments.precision.fp16);
  CHECK(contains(notes(outcome), "win over mixed_precision fp16"));
  CHECK(AccelerateFile("distributed_type: 'NO'\nfp16: true\n").arguments().precision.fp16);
}

TEST_CASE("config_file is config, and JSON is read too") {
  const testing::TemporaryDirectory folder;
  const std::string path =
      write(folder / "acc.json", "{\"distributed_type\": \"MULTI_CPU\", \"num_processes\": 3}");
  CHECK(parse({"--config_file", path}).arguments.launch.nproc_per_node == "3");
}

TEST_CASE("distributed_type MULTI_GPU asks for GPUs as --multi_gpu does, unless the run is on the CPU") {
  const auto asks = [](const ParseOutcome& outcome) {
    const auto found = outcome.unread.find("multi_gpu");
    return found != outcome.unread.end() && found->second == true;
  };
  const AccelerateFile file(usual("MULTI_GPU", "num_processes: 4\n"));
  CHECK(asks(file.outcome()));
  CHECK(file.outcome().origins.of("multi_gpu").starts_with(file.path));
  CHECK_FALSE(asks(file.outcome({"--use_cpu"})));
  CHECK_FALSE(asks(file.outcome({"--no_cuda"})));
  CHECK_FALSE(asks(file.outcome({"--num_processes", "1"})));
  CHECK(asks(file.outcome({"--num_processes", "2"})));
  CHECK_FALSE(
      asks(AccelerateFile("distributed_type: MULTI_GPU\nnum_processes: 2\nuse_cpu: true\n").outcome()));
  // A rank on each of several machines is no contradiction.
  CHECK(asks(
      AccelerateFile("distributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 2\nmain_process_ip: h\n")
          .outcome()));
}

TEST_CASE("gpu_ids chooses nothing from a mask that hides every GPU, nor for ranks on the CPU") {
  for (const char* mask : {"", " ", "-1"}) {
    INFO(mask);
    Environment hidden;
    hidden.set("CUDA_VISIBLE_DEVICES", mask);
    for (const char* ids : {"0", "0,1"}) {
      CHECK(parse({"--gpu_ids", ids}, hidden).exported_environment.empty());
      CHECK(parse({"--gpu_ids", ids, "--use_cpu"}, hidden).exported_environment.empty());
    }
  }
  CHECK(parse({"--gpu_ids", "0,1", "--use_cpu"}).exported_environment.empty());
  CHECK(contains(notes(parse({"--gpu_ids", "0,1", "--use_cpu"})), "gpu_ids has no effect"));
  CHECK_FALSE(contains(notes(parse({"--gpu_ids", "all", "--use_cpu"})), "gpu_ids"));
}

TEST_CASE("a command line that says no to a kind of sharding wins over the file of a launch") {
  const AccelerateFile deepspeed(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 3}\n");
  CHECK(*deepspeed.arguments().parallel.sharding.strategy == "full_shard");
  CHECK_FALSE(deepspeed.arguments({"--use_deepspeed", "false"}).parallel.sharding.strategy.value.has_value());
  CHECK(contains(deepspeed.notes({"--use_deepspeed", "false"}), "zero_stage has no effect"));
  // What `accelerate config` writes, and its record, which asks for no more than the run had.
  const AccelerateFile whole(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 2, gradient_clipping: "
      "1.0, "
      "offload_optimizer_device: cpu, offload_param_device: none, zero3_init_flag: true, "
      "zero3_save_16bit_model: true}\n");
  const ParseOutcome declined = whole.outcome({"--use_deepspeed", "false"});
  CHECK_FALSE(declined.arguments.parallel.sharding.strategy.value.has_value());
  CHECK(contains(notes(declined),
                 "zero_stage, zero3_init_flag, offload_optimizer_device, zero3_save_16bit_model, "
                 "gradient_clipping have no effect"));
  for (const char* form : {"minimal", "full"}) {
    const NamedFile record("--config", "again.yaml", print_config(declined, form));
    CHECK_FALSE(record.arguments().parallel.sharding.strategy.value.has_value());
  }
  const AccelerateFile named(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {deepspeed_config_file: x.json}\n");
  CHECK(contains(named.notes({"--use_deepspeed", "false"}), "deepspeed has no effect"));
  CHECK(contains(mistakes({"--use_deepspeed", "false", "--zero_stage", "2"}),
                 "use_deepspeed and zero_stage differ"));
  CHECK(contains(mistakes({"--use_deepspeed", "false", "--deepspeed", "x.json"}),
                 "use_deepspeed and deepspeed differ"));
  CHECK(*parse({"--zero_stage", "3"}).arguments.parallel.sharding.strategy == "full_shard");

  const AccelerateFile fsdp("distributed_type: FSDP\nnum_processes: 2\n");
  CHECK(*fsdp.arguments().parallel.sharding.strategy == "full_shard");
  for (const char* off : {"false", ""}) {
    CHECK_FALSE(fsdp.arguments({"--fsdp", off}).parallel.sharding.strategy.value.has_value());
    const ParseOutcome declined_fsdp = fsdp.outcome({"--fsdp", off});
    CHECK(contains(notes(declined_fsdp), "the run is not sharded by FSDP"));
    CHECK_FALSE(contains(notes(declined_fsdp), "--fsdp true"));
    for (const char* form : {"minimal", "full"}) {
      const NamedFile record("--config", "again.yaml", print_config(declined_fsdp, form));
      CHECK_FALSE(record.arguments().parallel.sharding.strategy.value.has_value());
    }
    CHECK(contains(mistakes({"--use_fsdp", "--fsdp", off}), "use_fsdp and fsdp differ"));
  }
  CHECK(contains(notes(parse({"--fsdp", "false", "--fsdp_offload_params", "true"})),
                 "options of FSDP have no effect"));
  Environment launched;
  launched.set("ACCELERATE_USE_FSDP", "true");
  CHECK_FALSE(sharding({"--fsdp", "false"}, launched).strategy.value.has_value());
  CHECK(*sharding({}, launched).strategy == "full_shard");
  const NamedFile says_false("--config", "false.yaml", "fsdp: false\n");
  CHECK_FALSE(parse(says_false.with(), launched).arguments.parallel.sharding.strategy.value.has_value());
  const NamedFile record_of_launch("--config", "again.yaml",
                                   print_config(parse({"--fsdp", "false"}, launched), "full"));
  CHECK_FALSE(
      parse(record_of_launch.with(), launched).arguments.parallel.sharding.strategy.value.has_value());
  // What the Trainer's files say of every run is no word against it.
  const NamedFile of_trainer("--config", "trainer.yaml", "fsdp: []\n");
  CHECK(*parse(of_trainer.with(), launched).arguments.parallel.sharding.strategy == "full_shard");

  const AccelerateFile narrow(
      "distributed_type: DEEPSPEED\nnum_processes: 2\nmixed_precision: bf16\ndeepspeed_config: {zero_stage: "
      "2}\n");
  CHECK(narrow.arguments().precision.bf16);
  const NamedFile file("--deepspeed", "ds.json",
                       R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})");
  CHECK(file.arguments().precision.bf16);
  CHECK(contains(file.mistakes({"--mixed_precision", "no"}), "bf16 differ"));
  CHECK(contains(notes(parse({"--mixed_precision", "no", "--bf16"})),
                 "the flags fp16 and bf16 win over mixed_precision no"));
}

TEST_CASE("a DeepSpeed file that is not there is told with the line of the Accelerate file that names it") {
  const AccelerateFile file(
      "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"
      "  deepspeed_config_file: nowhere/ds.json\n");
  const std::string text = file.mistakes();
  CHECK(contains(text, "'nowhere/ds.json'"));
  CHECK(contains(text, "where: deepspeed (" + file.at("4:26") + ')'));
  CHECK(contains(mistakes({"--deepspeed", "nowhere/ds.json"}), "where: --deepspeed (command line)"));
}

}  // namespace hftrain::arguments
