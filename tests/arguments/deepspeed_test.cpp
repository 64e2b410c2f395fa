// DeepSpeed configurations, rules D of docs/arguments.md.
#include "hftrain/arguments/import/deepspeed.h"

#include <algorithm>

#include "hftrain/arguments/import/deepspeed_keys.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/print_config.h"
#include "support.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

// A DeepSpeed file written by the test, and the command line that names it.
struct DeepspeedFile : NamedFile {
  explicit DeepspeedFile(const std::string& text) : NamedFile("--deepspeed", "ds.json", text) {}
};

// One key beside the least that a file needs.
DeepspeedFile with_key(const std::string& key) {
  return DeepspeedFile("{\"zero_optimization\": {\"stage\": 2},\n" + key + "}");
}
DeepspeedFile with_zero(const std::string& keys) {
  return DeepspeedFile("{\"zero_optimization\": {" + keys + "}}");
}

// The four shapes of files that people bring: everything auto, offload to the host, NVMe, everything
// explicit.
const char* const kAllAuto = R"({
  "_comment": "all auto",
  "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16,
           "hysteresis": 2, "min_loss_scale": 1},
  "bf16": {"enabled": "auto"},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
  "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_min_lr": "auto",
                "warmup_max_lr": "auto", "warmup_num_steps": "auto"}},
  "zero_optimization": {"stage": 2, "allgather_partitions": true, "allgather_bucket_size": 2e8,
    "overlap_comm": true, "reduce_scatter": true, "reduce_bucket_size": "auto", "contiguous_gradients": true},
  "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"
})";

const char* const kHostOffload = R"({
  "bf16": {"enabled": "auto"},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu", "pin_memory": true},
    "sub_group_size": 1e9, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
    "stage3_param_persistence_threshold": "auto", "stage3_max_live_parameters": 1e9,
    "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true
  },
  "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000,
  "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false
})";

const char* const kNvme = R"({
  "bf16": {"enabled": true},
  "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme", "pin_memory": true, "buffer_count": 4,
                          "fast_init": false, "pipeline_read": true, "pipeline_write": false},
    "offload_param": {"device": "nvme", "nvme_path": "/other_nvme", "pin_memory": true, "buffer_count": 5,
                      "buffer_size": 1e8, "max_in_cpu": 1e9}
  },
  "aio": {"block_size": 262144, "queue_depth": 32, "intra_op_parallelism": 1, "single_submit": false,
          "overlap_events": true}
})";

const char* const kExplicit = R"({
  "train_batch_size": 16, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
  "gradient_clipping": 0.5,
  "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 500, "initial_scale_power": 12,
           "hysteresis": 3, "min_loss_scale": 2, "consecutive_hysteresis": true},
  "optimizer": {"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.8, 0.99], "eps": 1e-7, "weight_decay": 3e-7}},
  "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 3e-5, "warmup_num_steps": 500}},
  "zero_optimization": {"stage": 1, "reduce_bucket_size": 500000000, "allgather_bucket_size": 500000000}
})";

}  // namespace

TEST_CASE("a deepspeed file that the system cannot look at is a mistake and no surprise") {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_symlink("loop.json", folder / "loop.json");
  CHECK(contains(mistakes({"--deepspeed", folder / "loop.json"}), "loop.json"));
}

TEST_CASE("auto leaves every value to the flags") {
  const DeepspeedFile file(kAllAuto);
  const Arguments a = file.arguments({"--learning_rate", "1e-4", "--warmup_steps", "10", "--bf16",
                                      "--per_device_train_batch_size", "2", "--max_grad_norm", "0.7"});
  CHECK(*a.parallel.sharding.strategy == "shard_grad_op");
  CHECK(*a.parallel.sharding.offload_optimizer == "none");
  CHECK(a.optimizer.learning_rate == 1e-4);
  CHECK(a.optimizer.max_grad_norm == 0.7);
  CHECK(a.batch.per_device_train_batch_size == 2);
  CHECK(a.precision.bf16);
  CHECK_FALSE(a.precision.fp16);
  CHECK(a.schedule.lr_scheduler_type == "WarmupDecayLR");
  CHECK(a.schedule.warmup_steps == 10);
  CHECK_FALSE(a.schedule.lr_scheduler_kwargs);
  CHECK_FALSE(a.parallel.deepspeed->train_batch_size);
  CHECK_FALSE(a.parallel.deepspeed->total_steps);
  CHECK(file.arguments().optimizer.learning_rate == 5e-5);
}

TEST_CASE("offload to the host, with sizes that follow the model") {
  const DeepspeedFile file(kHostOffload);
  const Arguments a = file.arguments({"--bf16"});
  const ParallelOptions& sharding = a.parallel.sharding;
  CHECK(*sharding.strategy == "full_shard");
  CHECK(*sharding.offload_parameters == "cpu");
  CHECK(*sharding.offload_optimizer == "cpu");
  CHECK(*sharding.state_dict == "full");
  CHECK(a.parallel.deepspeed->full_parameter_limit_by_hidden_size);
  CHECK_FALSE(sharding.full_parameter_limit);
  CHECK(a.schedule.lr_scheduler_type == "linear");
  CHECK(contains(file.notes(), "keys without effect here: steps_per_print (--logging_steps decides"));
}

TEST_CASE("offload to NVMe with its buffers and requests") {
  const Arguments a = DeepspeedFile(kNvme).arguments();
  const ParallelOptions& sharding = a.parallel.sharding;
  CHECK(a.precision.bf16);
  CHECK(*sharding.offload_optimizer == "nvme");
  CHECK(*sharding.offload_parameters == "nvme");
  CHECK(*sharding.optimizer_path == "/local_nvme");
  CHECK(*sharding.parameters_path == "/other_nvme");
  CHECK(*sharding.buffer_count == 5);
  CHECK(*sharding.buffer_numbers == 100'000'000);
  CHECK(*sharding.block_bytes == 262144);
  CHECK(*sharding.queue_depth == 32);
  CHECK(*sharding.pipeline_read);
  CHECK_FALSE(*sharding.pipeline_write);
  CHECK(*sharding.full_parameter_limit == 100'000);
}

TEST_CASE("explicit values become flags that were not given, with their places") {
  const DeepspeedFile file(kExplicit);
  const ParseOutcome outcome = parse(file.with());
  const Arguments& a = outcome.arguments;
  CHECK(*a.parallel.sharding.strategy == "zero1");
  CHECK(a.batch.per_device_train_batch_size == 4);
  CHECK(a.batch.gradient_accumulation_steps == 2);
  CHECK(a.optimizer.max_grad_norm == 0.5);
  CHECK(a.optimizer.learning_rate == 3e-5);
  CHECK(a.optimizer.adam_beta1 == 0.8);
  CHECK(a.optimizer.adam_beta2 == 0.99);
  CHECK(a.optimizer.adam_epsilon == 1e-7);
  CHECK(a.optimizer.weight_decay == 3e-7);
  CHECK(a.schedule.lr_scheduler_type == "WarmupLR");
  CHECK(a.schedule.warmup_steps == 500);
  CHECK(a.schedule.lr_scheduler_kwargs == Json{{"warmup_min_lr", 0.0}});
  CHECK(a.precision.fp16);
  CHECK(*a.parallel.deepspeed->train_batch_size == 16);
  CHECK_FALSE(a.parallel.deepspeed->micro_batch_follows);
  const LossScaleOptions& scale = *a.parallel.deepspeed->loss_scale;
  CHECK(scale.fixed == 0);
  CHECK(scale.initial_power == 12);
  CHECK(scale.window == 500);
  CHECK(scale.hysteresis == 3);
  CHECK(scale.consecutive_hysteresis);
  CHECK(scale.minimum == 2);
  CHECK(outcome.origins.of("learning_rate") == file.at("6:51"));
  CHECK(outcome.origins.of("max_grad_norm") == file.at("3:24"));
  CHECK(file.mistakes({"--learning_rate", "0.00003", "--fp16", "--warmup_steps", "500"}).empty());
}

TEST_CASE(
    "what moves the loss scale is told to do nothing where it is fixed, and where the run is not in fp16") {
  const auto told = [](const std::string& keys, const Words& words = {}) {
    return with_key("\"fp16\": {" + keys + "}").notes(words);
  };
  const std::string moves = R"("initial_scale_power": 12, "loss_scale_window": 500, "hysteresis": 3,
                               "consecutive_hysteresis": true, "min_loss_scale": 4)";
  const auto idle = [](const std::string& why) {
    return "fp16.initial_scale_power (" + why + "), fp16.loss_scale_window (" + why + "), fp16.hysteresis (" +
           why + "), fp16.consecutive_hysteresis (" + why + "), fp16.min_loss_scale (" + why + ")";
  };
  CHECK(contains(told("\"enabled\": true, \"loss_scale\": 128, " + moves), idle("loss_scale is fixed")));
  CHECK(contains(told("\"enabled\": false, " + moves), idle("the run is not in fp16")));
  CHECK(contains(told("\"enabled\": \"auto\", \"loss_scale\": 8", {"--bf16"}),
                 "fp16.loss_scale (the run is not in fp16)"));
  CHECK(told("\"enabled\": true, " + moves).empty());
  CHECK(told("\"enabled\": \"auto\", " + moves, {"--fp16"}).empty());
  // Files for every type of run have DeepSpeed's own values.
  CHECK(told("\"enabled\": \"auto\", \"loss_scale\": 0, \"initial_scale_power\": 16, \"loss_scale_window\": "
             "1000, "
             "\"hysteresis\": 2, \"min_loss_scale\": 1")
            .empty());
}

TEST_CASE("a run in fp16 has DeepSpeed's own loss scale, also where no section says so") {
  const auto scale = [](const Words& words) { return parse(words).arguments.parallel.deepspeed->loss_scale; };
  const Words stage2 = {"--deepspeed", R"({"zero_optimization": {"stage": 2}})"};
  const Words launched = {"--use_deepspeed", "--zero_stage", "2", "--mixed_precision", "fp16"};
  for (const Words& words : {also(stage2, {"--fp16"}), launched}) {
    REQUIRE(scale(words));
    CHECK(scale(words)->window == 1000);
    CHECK(scale(words)->hysteresis == 2);
    CHECK(scale(words)->minimum == 1);
  }
  CHECK_FALSE(scale(also(stage2, {"--bf16"})));
  CHECK_FALSE(parse({"--fp16"}).arguments.parallel.deepspeed);
}

TEST_CASE("dataloader_drop_last is of DeepSpeed's own loader and drops nothing of the run") {
  const DeepspeedFile file = with_key("\"dataloader_drop_last\": true");
  CHECK_FALSE(file.arguments().batch.dataloader_drop_last);
  CHECK(contains(file.warnings(), "dataloader_drop_last (--dataloader_drop_last does it)"));
  CHECK(file.arguments({"--dataloader_drop_last"}).batch.dataloader_drop_last);
  CHECK(file.notes({"--dataloader_drop_last"}).empty());
  CHECK(with_key("\"dataloader_drop_last\": false").notes().empty());
}

TEST_CASE("zero3_init_flag is told where it says something else than the stage does") {
  const auto told = [](const Words& words) { return notes(parse(words)); };
  const auto of_stage = [&](const char* stage, const char* flag) {
    return told({"--use_deepspeed", "--zero_stage", stage, "--zero3_init_flag", flag});
  };
  CHECK(contains(of_stage("2", "true"),
                 "zero3_init_flag true counts as false\n  where: --zero3_init_flag (command line)\n"
                 "  why: below stage 3 every rank has all parameters"));
  CHECK(contains(of_stage("3", "false"), "zero3_init_flag false counts as true"));
  CHECK_FALSE(contains(of_stage("3", "true"), "zero3_init_flag"));
  CHECK_FALSE(contains(of_stage("0", "false"), "zero3_init_flag"));
  CHECK(contains(told({"--zero3_init_flag", "true"}), "zero3_init_flag has no effect"));
  CHECK(contains(told({"--zero3_init_flag", "true", "--fsdp"}), "zero3_init_flag has no effect"));
  CHECK_FALSE(contains(told({"--zero3_init_flag", "false"}), "zero3_init_flag"));
  const DeepspeedFile file(R"({"zero_optimization": {"stage": 1}})");
  CHECK(contains(file.notes({"--zero3_init_flag", "true"}), "zero3_init_flag true counts as false"));
  const NamedFile accelerate("--config", "acc.yaml",
                             "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"
                             "  zero3_init_flag: true\n  zero_stage: 1\n");
  CHECK(contains(accelerate.notes(), "zero3_init_flag true counts as false\n  where: zero3_init_flag (" +
                                         accelerate.at("4:20") + ')'));
}

TEST_CASE("D1: all values that differ from their flags are reported at once, with both places") {
  const DeepspeedFile file(kExplicit);
  const std::string text = file.mistakes({"--learning_rate", "1e-4", "--gradient_accumulation_steps", "4",
                                          "--adam_beta2", "0.9", "--warmup_steps", "3", "--bf16"});
  CHECK(contains(text, "error: optimizer.params.lr and learning_rate differ\n  where: " + file.at("6:51") +
                           ", --learning_rate (command line)\n  why: 3e-05 against 0.0001\n  try: make them "
                           "equal, or write \"auto\" in the file"));
  CHECK(contains(text, "scheduler.params.warmup_max_lr and learning_rate differ"));
  CHECK(contains(text, "gradient_accumulation_steps and gradient_accumulation_steps differ"));
  CHECK(contains(text, "2 against 4"));
  CHECK(contains(text, "optimizer.params.betas[1] and adam_beta2 differ"));
  CHECK(contains(text, "scheduler.params.warmup_num_steps and warmup_steps differ"));
  CHECK(contains(text, "fp16 and bf16 exclude each other"));
  CHECK_FALSE(contains(text, "params.eps"));
}

TEST_CASE("D1: a search for the batch begins at the flag, and both are named") {
  const DeepspeedFile file = with_key("\"train_micro_batch_size_per_gpu\": 4");
  const Words two = {"--per_device_train_batch_size", "2"};
  CHECK(contains(file.mistakes(two), "4 against 2"));
  const Words search = also(two, {"--auto_find_batch_size"});
  CHECK(file.mistakes(search).empty());
  CHECK(file.arguments(search).batch.per_device_train_batch_size == 2);
  CHECK(contains(file.notes(search),
                 "begins at --per_device_train_batch_size 2, not at train_micro_batch_size_per_gpu 4"));
  CHECK(file.arguments({"--auto_find_batch_size"}).batch.per_device_train_batch_size == 4);
}

TEST_CASE("D1 counts configuration files as the user's word too") {
  const DeepspeedFile file(kExplicit);
  const std::string yaml = write(file.folder / "run.yaml", "max_grad_norm: 1.0\n");
  const std::string text = file.mistakes({"--config", yaml});
  CHECK(contains(text, "gradient_clipping and max_grad_norm differ"));
  CHECK(contains(text, yaml + ":1:16"));
}

TEST_CASE("D2: what follows from train_batch_size is left to the plan") {
  const Arguments all = with_key("\"train_batch_size\": 32").arguments();
  CHECK(all.parallel.deepspeed->micro_batch_follows);
  CHECK(all.parallel.deepspeed->accumulation_follows);
  const Arguments micro =
      with_key("\"train_batch_size\": 32").arguments({"--per_device_train_batch_size", "4"});
  CHECK_FALSE(micro.parallel.deepspeed->micro_batch_follows);
  CHECK(micro.parallel.deepspeed->accumulation_follows);
}

TEST_CASE("half precision of a file is that of training, also beside the flag of evaluation") {
  struct Row {
    const char* enabled;
    Words flags;
    bool half;
  };
  for (const std::string name : {"bf16", "fp16"}) {
    const std::string training = "--" + name, evaluation = training + "_full_eval";
    for (const Row& row :
         {Row{"true", {}, true}, Row{"true", {training}, true}, Row{"true", {evaluation}, true},
          Row{"true", {training, evaluation}, true}, Row{"\"auto\"", {}, false},
          Row{"\"auto\"", {training}, true}, Row{"\"auto\"", {evaluation}, true},
          Row{"\"auto\"", {training, evaluation}, true}, Row{"false", {}, false}}) {
      INFO(name << ' ' << row.enabled << " beside " << row.flags.size() << " flags");
      const DeepspeedFile file = with_key('"' + name + "\": {\"enabled\": " + row.enabled + "}");
      const PrecisionArguments precision = file.arguments(row.flags).precision;
      CHECK((name == "bf16" ? precision.bf16 : precision.fp16) == row.half);
      CHECK_FALSE((name == "bf16" ? precision.fp16 : precision.bf16));
    }
    const DeepspeedFile off = with_key('"' + name + "\": {\"enabled\": false}");
    CHECK(contains(off.mistakes({evaluation}), name + ".enabled and " + name + "_full_eval differ"));
  }
}

TEST_CASE("D5 and D8: one kind of half precision") {
  CHECK(contains(with_key("\"fp16\": {\"enabled\": true}, \"bf16\": {\"enabled\": true}").mistakes(),
                 "fp16.enabled and bf16.enabled exclude each other"));
  CHECK(contains(with_key("\"bf16\": {\"enabled\": true}").mistakes({"--mixed_precision", "fp16"}),
                 "fp16 and bf16 exclude each other"));
  CHECK(contains(with_key("\"bf16\": {\"enabled\": false}").mistakes({"--bf16"}),
                 "bf16.enabled and bf16 differ"));
  CHECK(contains(with_key("\"bf16\": {\"enabled\": false}").mistakes({"--bf16_full_eval"}),
                 "bf16.enabled and bf16_full_eval differ"));
  CHECK(with_key("\"fp16\": {\"enabled\": true}").mistakes({"--fp16_full_eval"}).empty());
  CHECK(with_key("\"bfloat16\": {\"enabled\": true}").arguments().precision.bf16);
}

TEST_CASE("D6: a configuration and the flags of accelerate launch must say the same") {
  const DeepspeedFile file = with_zero("\"stage\": 2");
  const std::string text = file.mistakes({"--zero_stage", "3"});
  CHECK(contains(text, "the sharding strategy is given twice and differently"));
  CHECK(contains(text, "shard_grad_op (" + file.at("1:33") + ") and full_shard (--zero_stage)"));
  CHECK(file.mistakes({"--zero_stage", "2"}).empty());
  CHECK(contains(file.mistakes({"--offload_optimizer_device", "cpu"}), "where optimizer state lives"));
}

TEST_CASE("D7 and D9: keys that need a certain stage") {
  CHECK(contains(with_zero("\"stage\": 2, \"offload_param\": {\"device\": \"cpu\"}").mistakes(),
                 "offload_param needs stage 3"));
  CHECK(with_zero("\"stage\": 2, \"offload_param\": {\"device\": \"none\"}").mistakes().empty());
  CHECK(contains(with_zero("\"stage\": 3, \"offload_optimizer\": {\"device\": \"nvme\"}").mistakes(),
                 "offload_optimizer on nvme needs nvme_path"));
  CHECK(contains(
      with_zero("\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"ratio\": 0.5}").mistakes(),
      "ratio needs stage 3"));
  CHECK(contains(with_zero("\"stage\": 3, \"compute_grad_norm\": false").mistakes(),
                 "compute_grad_norm false"));
  CHECK(contains(
      DeepspeedFile("{\"zero_optimization\": {\"stage\": 3}, \"gradient_allreduce_op\": \"sum\"}").mistakes(),
      "gradient_allreduce_op sum is not supported"));
  CHECK(contains(with_zero("\"stage\": 0, \"offload_optimizer\": {\"device\": \"cpu\"}").mistakes(),
                 "offload_optimizer needs stage 1, 2 or 3"));
}

TEST_CASE("D10: weights and optimizer state of half precision are refused") {
  CHECK(
      contains(with_key("\"bf16\": {\"enabled\": true, \"bf16_master_weights_and_grads\": true}").mistakes(),
               "bf16.bf16_master_weights_and_grads true is not supported"));
  CHECK(
      contains(with_key("\"fp16\": {\"enabled\": true, \"fp16_master_weights_and_grads\": true}").mistakes(),
               "loss scaling needs float32 weights"));
}

TEST_CASE("every mistake of a file is reported with its place and the nearest key") {
  const DeepspeedFile file(R"({
  "zero_optimization": {"stage": 4, "overlap_com": true},
  "train_micro_batch_size_per_gpus": 2,
  "fp16": {"enabled": "perhaps", "hysteresis": 1.5},
  "gradient_clipping": "much"
})");
  const std::string text = file.mistakes();
  CHECK(
      contains(text, "deepspeed: zero_optimization.stage: '4' is not a whole number 0 <= x <= 3\n  where: " +
                         file.at("2:34")));
  CHECK(contains(text, "unknown key 'overlap_com'\n  where: " + file.at("2:52") +
                           "\n  why: deepspeed has no such key there\n  try: did you mean overlap_comm?"));
  CHECK(contains(
      text,
      "unknown key 'train_micro_batch_size_per_gpus'\n  where: " + file.at("3:38") +
          "\n  why: deepspeed has no such key there\n  try: did you mean train_micro_batch_size_per_gpu"));
  CHECK(contains(text, "fp16.enabled: 'perhaps' is not a truth value\n  where: " + file.at("4:23")));
  CHECK(contains(text, "fp16.hysteresis: '1.5' is not a whole number"));
  CHECK(contains(text, "gradient_clipping: 'much' is not a number\n  where: " + file.at("5:24")));
}

TEST_CASE("a key of another section is refused with the section that has it") {
  const auto told = [](const DeepspeedFile& file, const std::string& where) {
    return contains(file.mistakes(), "deepspeed has no such key there\n  try: " + where);
  };
  CHECK(told(with_key(R"("bf16": {"initial_scale_power": 12})"), "initial_scale_power belongs in fp16"));
  CHECK(told(with_key(R"("offload_optimizer": {"device": "cpu"})"),
             "offload_optimizer belongs in zero_optimization"));
  CHECK(told(with_key(R"("stage": 2)"), "stage belongs in zero_optimization"));
  CHECK(told(with_zero(R"("stage": 2, "aio": {"block_size": 4096})"), "aio belongs at the top level, in no"));
  CHECK(told(with_zero(R"("stage": 2, "queue_depth": 8)"), "queue_depth belongs in aio"));
  CHECK(told(with_zero(R"("stage": 2, "buffer_size": 8)"),
             "buffer_size belongs in zero_optimization.offload_param"));
  CHECK(told(
      with_zero(R"("stage": 2, "pin_memory": true)"),
      "pin_memory belongs in zero_optimization.offload_param, or in zero_optimization.offload_optimizer"));
  CHECK(told(with_key(R"("optimizer": {"type": "AdamW", "lr": 1e-3})"), "lr belongs in optimizer.params"));
  CHECK(told(with_key(R"("optimizer": {"type": "AdamW", "params": {"gradient_clipping": 1}})"),
             "gradient_clipping belongs at the top level"));
  CHECK(told(with_key(R"("warmup_num_steps": 3)"), "warmup_num_steps belongs in scheduler.params"));
  // Here of another type, written as the other section's, or refused there: nobody is led to it.
  CHECK_FALSE(contains(
      with_key(R"("scheduler": {"type": "WarmupLR", "params": {"total_num_steps": "auto"}})").mistakes(),
      "belongs"));
  CHECK(told(with_key(R"("prefetch_bucket_size": 3)"), "prefetch_bucket_size belongs in zero_optimization"));
  CHECK_FALSE(contains(with_key(R"("zero_quantized_weights": true)").mistakes(), "belongs"));
  CHECK_FALSE(
      contains(with_zero(R"("stage": 2, "enabled": true)").mistakes(), "belongs"));  // in ten sections
}

TEST_CASE("an Accelerate file in the place of DeepSpeed's is one mistake, which names its flag") {
  const testing::TemporaryDirectory folder;
  for (const char* kind :
       {"distributed_type: FSDP", "compute_environment: LOCAL_MACHINE", "fsdp_config: {}"}) {
    const std::string path =
        write(folder / "accelerate.yaml", "num_processes: 2\n" + std::string(kind) + "\n");
    const std::string text = mistakes({"--deepspeed", path});
    CHECK(contains(text, "deepspeed: this is a configuration of "));
    CHECK(contains(text, "\n  where: " + path + ":2:"));
    CHECK(contains(text, "try: --config " + path));
    CHECK(text.find("error: ") == text.rfind("error: "));
  }
}

TEST_CASE("how often DeepSpeed prints is a number, or never") {
  const auto file = [](const std::string& value) {
    return DeepspeedFile("{\"zero_optimization\": {\"stage\": 1},\n\"steps_per_print\": " + value + "}");
  };
  for (const char* word : {"\"often\"", "[10]", "1.5"})
    CHECK(contains(file(word).mistakes(), "deepspeed: steps_per_print: "));
  CHECK(contains(file("\"often\"").mistakes(), "steps_per_print: 'often' is not a whole number\n  where: "));
  CHECK(contains(file("100").notes(), "steps_per_print (--logging_steps decides"));
  for (const char* fine : {"\"inf\"", "\"auto\"", "null"})
    CHECK_FALSE(contains(file(fine).notes(), "steps_per_print"));
}

TEST_CASE("words that DeepSpeed lowers are known in any case") {
  CHECK(with_key(R"("checkpoint": {"tag_validation": "fAiL"}, "gradient_allreduce_op": "MEAN")")
            .mistakes()
            .empty());
  const Arguments reduced = with_key(R"("communication_data_type": "BF16")").arguments();
  CHECK(*reduced.parallel.sharding.reduce_dtype == "bfloat16");
  CHECK(contains(with_key(R"("checkpoint": {"tag_validation": "fails"})").mistakes(),
                 "'fails' is not one of warn, ignore, fail"));
}

TEST_CASE("modules that are to stay in float32 are refused for what they ask") {
  const auto of = [](const std::string& value) {
    return with_key("\"data_types\": {\"keep_in_fp32_modules\": " + value + '}').mistakes();
  };
  CHECK(contains(of("[\"norm\"]"), "why: norms and losses are always computed in float32"));
  CHECK((of("\"auto\"").empty() && of("[]").empty()));
}

TEST_CASE("comments in JSON are taken, and that is told") {
  constexpr const char* kTold = "comments in JSON are passed over";
  CHECK(contains(DeepspeedFile("{\"zero_optimization\": {\"stage\": 2}} // ours").notes(), kTold));
  CHECK(contains(notes(parse({"--fsdp", "true", "--fsdp_config", R"({/* v1 */ "version": 1})"})), kTold));
  CHECK_FALSE(contains(with_key(R"("_why": "http://a")").notes(), kTold));
}

TEST_CASE("what a stage does not have is refused with its reason") {
  const std::string mics = with_zero(R"("stage": 2, "mics_shard_size": 2)").mistakes(),
                    offload = with_zero(R"("stage": 0, "offload_optimizer": {"device": "cpu"})").mistakes(),
                    cycle = with_key(R"("scheduler": {"type": "OneCycle", "params": {}})").mistakes();
  CHECK(contains(mics, "why: it cuts parameters, which are whole in stage 2"));
  CHECK(contains(offload, "why: in stage 0 every rank has all of the optimizer's state"));
  CHECK(contains(cycle, "why: the rate goes from the one to the other and back"));
}

TEST_CASE("files that are no JSON, are not there, or give a key twice") {
  CHECK(contains(mistakes({"--deepspeed", "/nowhere/ds.json"}), "/nowhere/ds.json"));
  CHECK(contains(DeepspeedFile("{\"zero_optimization\": {\"stage\": 2}").mistakes(), "not valid JSON"));
  for (const char* text : {"{\"a\": ", "eyJhIjog"})  // the second is the first in base64
    CHECK(contains(mistakes({"--deepspeed", text}), "not valid JSON\n  where: --deepspeed (command line)"));
  const DeepspeedFile twice(
      "{\"zero_optimization\": {\"stage\": 2},\n \"zero_optimization\": {\"stage\": 3}}");
  CHECK(contains(twice.mistakes(), "key 'zero_optimization' is given twice"));
  CHECK(contains(twice.mistakes(), "first at " + twice.at("1:2")));
  CHECK(contains(DeepspeedFile("[1]").mistakes(), "is not a mapping"));
  CHECK(contains(DeepspeedFile("{}").mistakes(), "the section zero_optimization is missing"));
  CHECK(contains(DeepspeedFile("{}").mistakes(), "why: the Trainer refuses a file without it"));
}

TEST_CASE("comments, text, base64 and mappings are read alike") {
  const char* const kText = "{ /* ZeRO */ \"zero_optimization\": {\"stage\": 3} // three\n}";
  CHECK(*DeepspeedFile(kText).arguments().parallel.sharding.strategy == "full_shard");
  CHECK(*parse({"--deepspeed", "{\"zero_optimization\": {\"stage\": 1}}"})
             .arguments.parallel.sharding.strategy == "zero1");
  const char* const kBase64 = "eyJ6ZXJvX29wdGltaXphdGlvbiI6IHsic3RhZ2UiOiAyfX0=";
  CHECK(*parse({"--deepspeed", kBase64}).arguments.parallel.sharding.strategy == "shard_grad_op");
  const testing::TemporaryDirectory folder;
  const std::string yaml =
      write(folder / "run.yaml", "deepspeed:\n  zero_optimization:\n    stage: 1\n    stag: 2\n");
  CHECK(contains(mistakes({"--config", yaml}), "unknown key 'stag'\n  where: " + yaml + ":4:11"));
  for (const char* spelling : {"--deepspeed_config", "--deepspeed_config_file"}) {
    const DeepspeedFile file(kAllAuto);
    CHECK(*parse({spelling, file.path}).arguments.parallel.sharding.strategy == "shard_grad_op");
  }
}

TEST_CASE("sizes of ZeRO that do nothing here are those that deepspeed takes") {
  for (const std::string key : {"sub_group_size", "allgather_bucket_size", "stage3_max_live_parameters",
                                "stage3_max_reuse_distance", "stage3_model_persistence_threshold"}) {
    INFO(key);
    CHECK(with_zero("\"stage\": 3, \"" + key + "\": 0").mistakes().empty());
    CHECK(contains(with_zero("\"stage\": 3, \"" + key + "\": -1").mistakes(), key + ": '-1' is not a"));
  }
  CHECK(with_zero(R"("stage": 3, "parameter_alignment": true)").mistakes().empty());
  CHECK(contains(with_zero(R"("stage": 3, "parameter_alignment": "x")").mistakes(), "parameter_alignment"));
}

TEST_CASE("old and removed keys") {
  CHECK(*with_zero("\"stage\": 2, \"cpu_offload\": true").arguments().parallel.sharding.offload_optimizer ==
        "cpu");
  CHECK(*with_zero("\"stage\": 3, \"cpu_offload_params\": true")
             .arguments()
             .parallel.sharding.offload_parameters == "cpu");
  CHECK(
      contains(with_zero("\"stage\": 2, \"cpu_offload\": true, \"offload_optimizer\": {\"device\": \"cpu\"}")
                   .mistakes(),
               "cpu_offload and offload_optimizer are one setting"));
  CHECK(*DeepspeedFile("{\"zero_optimization\": true}").arguments().parallel.sharding.strategy == "zero1");
  CHECK(*with_zero("\"stage\": 3, \"stage3_gather_fp16_weights_on_model_save\": false")
             .arguments()
             .parallel.sharding.state_dict == "sharded");
  CHECK(*with_zero("\"stage\": 3, \"param_persistence_threshold\": 1e4")
             .arguments()
             .parallel.sharding.full_parameter_limit == 10000);
  CHECK(contains(
      with_zero("\"stage\": 3, \"max_live_parameters\": 1, \"stage3_max_live_parameters\": 2").mistakes(),
      "is given under two names"));
  CHECK(contains(with_key("\"sparse_attention\": {\"mode\": \"fixed\"}").mistakes(),
                 "sparse_attention {mode: fixed} is not supported"));
  CHECK(with_key("\"elasticity\": {\"enabled\": false}, \"amp\": {}, \"sparse_gradients\": false")
            .mistakes()
            .empty());
  for (const std::string key :
       {"\"amp\": {\"enabled\": false}", "\"nebula\": {}", "\"sparse_gradients\": false",
        "\"elasticity\": {\"enabled\": false}", "\"curriculum_learning\": false"}) {
    INFO(key);
    const std::string name = key.substr(1, key.find('"', 1) - 1);
    CHECK(contains(with_key(key).notes(), "keys without effect here: " + name + " (it is off)"));
  }
  const Arguments mics = with_zero("\"stage\": 3, \"mics_shard_size\": 4").arguments();
  CHECK(*mics.parallel.sharding.strategy == "hybrid_shard");
  CHECK(*mics.parallel.sharding.shard_ranks == 4);
}

TEST_CASE("keys that act in another stage or on NVMe only are told where they do nothing") {
  const auto idle = [](const std::string& zero) { return with_zero(zero).notes(); };
  const std::string host = R"("stage": 3, "offload_optimizer": {"device": "cpu", )";
  CHECK(contains(idle(host + R"("nvme_path": "/local_nvme", "buffer_count": 8, "pipeline_read": true})"),
                 "zero_optimization.offload_optimizer.nvme_path (beside device nvme only), "
                 "zero_optimization.offload_optimizer.buffer_count (beside device nvme only), "
                 "zero_optimization.offload_optimizer.pipeline_read (beside device nvme only)"));
  CHECK(contains(idle(R"("stage": 3, "offload_param": {"device": "cpu", "buffer_size": 7})"),
                 "offload_param.buffer_size (beside device nvme only)"));
  CHECK_FALSE(contains(idle(host + R"("nvme_path": "none", "buffer_count": 4, "pipeline_read": false})"),
                       "without effect"));
  CHECK_FALSE(contains(idle(R"("stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/n"})"),
                       "without effect"));
  CHECK(contains(with_key(R"("aio": {"block_size": 4096})").notes(),
                 "aio.block_size (beside device nvme only)"));
  const std::string limit = R"(, "stage3_param_persistence_threshold": 7)",
                    whole = R"(, "stage3_gather_16bit_weights_on_model_save": true)";
  CHECK(contains(idle(R"("stage": 2)" + limit), "stage3_param_persistence_threshold (in stage 3 only)"));
  CHECK(
      contains(idle(R"("stage": 2)" + whole), "stage3_gather_16bit_weights_on_model_save (in stage 3 only)"));
  CHECK_FALSE(contains(idle(R"("stage": 3)" + limit + whole), "without effect"));
  const std::string elastic = R"(, "elastic_checkpoint": true)",
                    told = "keys without effect here: zero_optimization.elastic_checkpoint";
  CHECK(contains(with_zero(R"("stage": 3)" + elastic).warnings(), told));
  CHECK(contains(idle(R"("stage": 2)" + elastic), told));
  CHECK(with_zero(R"("stage": 2)" + elastic).warnings().empty());
}

TEST_CASE("flags of accelerate launch for stage 3 and NVMe are told where they do nothing") {
  const auto said = [](const Words& words) {
    return notes(parse(also({"--use_deepspeed", "--zero_stage"}, words)));
  };
  CHECK(contains(said({"2", "--zero3_save_16bit_model", "true"}), "zero3_save_16bit_model has no effect"));
  CHECK_FALSE(contains(said({"3", "--zero3_save_16bit_model", "true"}), "no effect"));
  CHECK_FALSE(contains(said({"2", "--zero3_save_16bit_model", "false"}), "no effect"));
  const Words folder = {"--offload_optimizer_nvme_path", "/n", "--offload_optimizer_device"};
  CHECK(contains(said(also({"2"}, also(folder, {"cpu"}))), "offload_optimizer_nvme_path has no effect"));
  CHECK_FALSE(contains(said(also({"2"}, also(folder, {"nvme"}))), "no effect"));
}

TEST_CASE("what hftrain does not do is refused by name with a way out") {
  CHECK(contains(with_zero("\"stage\": 3, \"zero_quantized_weights\": true").mistakes(),
                 "zero_optimization.zero_quantized_weights true is not supported"));
  CHECK(
      contains(with_zero("\"stage\": 3, \"zero_hpz_partition_size\": 8").mistakes(), "use mics_shard_size"));
  CHECK(contains(with_key("\"flops_profiler\": {\"enabled\": true}").mistakes(), "total_flos is in"));
  CHECK(contains(with_key("\"prescale_gradients\": true").mistakes(),
                 "prescale_gradients true is not supported"));
  CHECK(
      contains(with_key("\"comet\": {\"enabled\": true}").mistakes(), "comet.enabled true is not supported"));
  CHECK(contains(with_key("\"aio\": {\"use_gds\": true}").mistakes(), "aio.use_gds true is not supported"));
}

TEST_CASE("a section without what switches it on is off, as DeepSpeed's defaults leave it") {
  for (const char* off :
       {R"("hybrid_engine": {"max_out_tokens": 512})", R"("data_efficiency": {"seed": 1})",
        R"("autotuning": {"fast": true})", R"("torch_autocast": {"dtype": "bf16"})",
        R"("compile": {"deepcompile": false, "double_buffer": true})",
        R"("tensor_parallel": {"autotp_size": 0})", R"("tensor_parallel": {"autotp_size": 1})",
        R"("pipeline": {"stages": "auto"})", R"("comms_logger": {"verbose": true})"}) {
    INFO(off);
    CHECK(with_key(off).mistakes().empty());
    CHECK(with_key(off).notes().empty());
  }
  for (const char* on : {R"("hybrid_engine": {"enabled": true})", R"("autotuning": {"enabled": "true"})",
                         R"("compile": {"deepcompile": true})", R"("tensor_parallel": {"autotp_size": 2})",
                         R"("pipeline": {"stages": 2})"}) {
    INFO(on);
    CHECK(contains(with_key(on).mistakes(), "is not supported"));
  }
}

TEST_CASE("keys that DeepSpeed does not know are refused in sections that are off, too") {
  for (const char* unknown :
       {R"("tensor_parallel": {"tp_size": 2})", R"("tensor_parallel": {"autotp_size": 0, "foo": 1})",
        R"("torch_autocast": {"enable": true})", R"("autotuning": {"enable": true})",
        R"("data_efficiency": {"enable": true})", R"("hybrid_engine": {"foo": 1})",
        R"("compile": {"foo": 1})", R"("pipeline": {"foo": 1})"}) {
    INFO(unknown);
    CHECK(contains(with_key(unknown).mistakes(), "unknown key"));
  }
  for (const char* on :
       {R"("tensor_parallel": {"tp": {"tp_size": 2}})", R"("tensor_parallel": {"enabled": true})",
        R"("compile": {"enabled": true})", R"("pipeline": {"enabled": true})"}) {
    INFO(on);
    CHECK(contains(with_key(on).mistakes(), "is not supported"));
  }
  CHECK(with_key(R"("tensor_parallel": {"tp": {"tp_size": 1, "tp_grain_size": 64}, "dtype": "bf16"})")
            .mistakes()
            .empty());
  CHECK(contains(with_key(R"("tp_size": 1)").mistakes(), "unknown key 'tp_size'"));
  CHECK_FALSE(contains(with_key(R"("tp_grain_size": 64)").mistakes(), "belongs in tensor_parallel"));
}

TEST_CASE("every form of off is taken of keys that are gone") {
  for (const std::string key : {"sparse_gradients", "graph_harvesting", "eigenvalue", "nebula"}) {
    INFO(key);
    for (const char* off : {"false", "{}", R"({"enabled": false})"})
      CHECK(with_key('"' + key + "\": " + off).mistakes().empty());
    for (const char* on : {"true", R"({"enabled": true})"})
      CHECK(contains(with_key('"' + key + "\": " + on).mistakes(), "is not supported"));
  }
}

TEST_CASE("monitors, reductions and activation checkpointing") {
  const DeepspeedFile file = with_key(
      "\"tensorboard\": {\"enabled\": true, \"output_path\": \"logs/\", \"job_name\": \"a\"},"
      "\"csv_monitor\": {\"enabled\": true}, \"communication_data_type\": \"bf16\","
      "\"activation_checkpointing\": {\"partition_activations\": true}");
  const Arguments a = file.arguments({"--report_to", "jsonl"});
  CHECK(a.logging.report_to == Words{"jsonl", "tensorboard", "csv"});
  CHECK(contains(file.notes({"--report_to", "none"}), "tensorboard is added to report_to"));
  CHECK_FALSE(contains(file.notes(), "is added to report_to"));
  CHECK(a.logging.logging_dir == "logs/a");
  CHECK(*a.parallel.sharding.reduce_dtype == "bfloat16");
  CHECK(
      contains(file.warnings(), "keys without effect here: activation_checkpointing.partition_activations"));
  CHECK(contains(file.notes(), "use --gradient_checkpointing"));
  for (const std::string key : {"comms_logger\": {\"enabled\": true, \"prof_ops\": [\"all_reduce\"]}",
                                "timers\": {\"throughput\": {\"enabled\": true}}"}) {
    const std::string said = with_key('"' + key).warnings();
    CHECK(contains(said, "deepspeed: keys without effect here: " + key.substr(0, key.find('"')) + " ("));
    CHECK(contains(said, "leave the keys out"));
  }
  CHECK(with_key("\"comms_logger\": {\"enabled\": false}, \"timers\": {}").notes().empty());
  CHECK(with_key("\"timers\": {\"throughput\": {\"enabled\": false}}").notes().empty());
  const DeepspeedFile tracked =
      with_key("\"wandb\": {\"enabled\": true, \"group\": \"g\", \"project\": \"deepspeed\"}");
  CHECK(tracked.arguments().logging.report_to == Words{"wandb"});
  CHECK(contains(tracked.notes(), "the variable WANDB_RUN_GROUP says it"));
  CHECK_FALSE(contains(tracked.notes(), "WANDB_PROJECT"));
}

TEST_CASE("keys of sections without effect are those that DeepSpeed knows, and so are words") {
  const auto mistakes = [](const std::string& key) { return with_key(key).mistakes(); };
  CHECK(contains(mistakes("\"comms_logger\": {\"enabled\": false, \"verbos\": true}"),
                 "did you mean verbose?"));
  CHECK(contains(mistakes("\"comms_logger\": {\"prof_all\": \"some\"}"), "comms_logger.prof_all"));
  CHECK(contains(mistakes("\"timers\": {\"throughput\": {\"synchronised\": true}}"),
                 "unknown key 'synchronised'"));
  CHECK(contains(mistakes("\"timers\": {\"enabled\": true}"), "unknown key 'enabled'"));
  CHECK(contains(mistakes("\"checkpoint\": {\"parallel_write\": {\"stage\": true}}"), "unknown key 'stage'"));
  CHECK(mistakes("\"checkpoint\": {\"parallel_write\": {\"pipeline_stage\": true}}").empty());
  CHECK(contains(mistakes("\"seq_parallel_communication_data_type\": \"fp64\""),
                 "seq_parallel_communication_data_type"));
  CHECK(mistakes("\"seq_parallel_communication_data_type\": \"bf16\"").empty());
  CHECK(contains(mistakes("\"comms_logger\": true"), "comms_logger is not a mapping"));
  CHECK(mistakes("\"comms_logger\": false").empty());
}

TEST_CASE("a job name of TensorBoard without a folder, and words that are none, are told") {
  const DeepspeedFile named = with_key("\"tensorboard\": {\"enabled\": true, \"job_name\": \"a\"}");
  CHECK(contains(named.notes(), "tensorboard.job_name (it names a folder of output_path)"));
  const auto tag = [](const std::string& word) {
    return with_key("\"checkpoint\": {\"tag_validation\": \"" + word + "\"}");
  };
  CHECK(tag("Ignore").mistakes().empty());
  CHECK(contains(tag("nonsense").mistakes(), "checkpoint.tag_validation"));
}

TEST_CASE("optimizer sections") {
  const auto section = [](const std::string& type, const std::string& params) {
    return with_key("\"optimizer\": {\"type\": \"" + type + "\", \"params\": {" + params + "}}");
  };
  CHECK(section("Adam", "\"adam_w_mode\": true").arguments().optimizer.optim == "adamw_torch_fused");
  CHECK(section("AdamW", "").arguments().optimizer.learning_rate == 1e-3);
  CHECK(section("adagrad", "").arguments().optimizer.learning_rate == 1e-2);
  const Arguments sgd = section("SGD", "\"lr\": 0.1, \"momentum\": 0.9, \"nesterov\": true").arguments();
  CHECK(sgd.optimizer.optim == "sgd");
  CHECK(sgd.optimizer.optim_args == "momentum=0.9,nesterov=true");
  CHECK(section("Lion", "\"betas\": [0.95, 0.98]").arguments().optimizer.optim == "lion_32bit");
  CHECK(contains(section("OneBitAdam", "\"freeze_step\": 10").mistakes(),
                 "optimizer.type OneBitAdam is not supported"));
  CHECK(contains(section("Lamb", "").mistakes(), "use AdamW"));
  CHECK(contains(section("AdamW", "\"max_grad_norm\": 1").mistakes(), "use gradient_clipping"));
  CHECK(contains(section("AdamW", "\"beta\": [0.9, 0.9]").mistakes(), "did you mean betas?"));
  CHECK(contains(section("AdamW", "\"betas\": [0.9]").mistakes(), "betas are two numbers"));
}

TEST_CASE("an optimizer section is of one group, which decays as a whole") {
  CHECK(with_key(R"("optimizer": {"type": "AdamW", "params": {}})")
            .arguments()
            .parallel.deepspeed->has_optimizer);
  CHECK_FALSE(with_key(R"("gradient_clipping": 1)").arguments().parallel.deepspeed->has_optimizer);
}

TEST_CASE("eps of every optimizer is adam_epsilon where it is auto, and agrees with it elsewhere") {
  for (const std::string type : {"RMSprop", "Adagrad"}) {
    INFO(type);
    const auto with = [&](const std::string& eps) {
      return with_key(R"("optimizer": {"type": ")" + type + R"(", "params": {"lr": "auto", "eps": )" + eps +
                      "}}");
    };
    const Words flag = {"--adam_epsilon", "1e-4"};
    CHECK(with("\"auto\"").arguments(flag).optimizer.optim_args == "eps=0.0001");
    CHECK(with("\"auto\"").arguments().optimizer.optim_args == "eps=1e-08");
    CHECK(with("\"auto\"").notes(flag).empty());
    CHECK(with("1e-4").arguments(flag).optimizer.optim_args == "eps=0.0001");
    CHECK(with("1e-4").notes(flag).empty());
    CHECK(with("1e-5").arguments().optimizer.optim_args == "eps=1e-05");
    CHECK(contains(with("1e-5").mistakes(flag), "optimizer.params.eps and adam_epsilon differ"));
  }
  CHECK(contains(with_key(R"("optimizer": {"type": "SGD", "params": {"lr": "auto"}})")
                     .warnings({"--adam_epsilon", "1e-4"}),
                 "adam_epsilon has no effect"));
}

TEST_CASE("options of the command line stand beside the params of an optimizer section") {
  const auto file = with_key(
      R"("optimizer": {"type": "RMSprop", "params": {"lr": "auto", "eps": "auto", "momentum": 0.9}})");
  const auto with = [&](const char* options) { return Words{"--optim_args", options}; };
  CHECK(file.arguments(with("alpha=0.95")).optimizer.optim_args == "alpha=0.95,eps=1e-08,momentum=0.9");
  CHECK(file.arguments(with("momentum=9e-1, eps=1e-8")).optimizer.optim_args == "momentum=9e-1, eps=1e-8");
  CHECK(file.notes(with("alpha=0.95")).empty());
  const std::string mistakes = file.mistakes(with("alpha=0.95,momentum=0.8"));
  CHECK(contains(mistakes, "optimizer.params.momentum and optim_args differ"));
}

TEST_CASE("one DeepSpeed file under several names is one, and several are refused") {
  const testing::TemporaryDirectory folder;
  const std::string first = write(folder / "ds.json", R"({"zero_optimization": {"stage": 1}})"),
                    other = write(folder / "other.json", R"({"zero_optimization": {"stage": 2}})");
  const std::string again = folder.path() + "/./ds.json", text = R"({"zero_optimization":{"stage":1}})";
  const auto named = [](const char* one, const std::string& a, const char* two, const std::string& b) {
    return Words{"--use_deepspeed", one, a, two, b};
  };
  const char *own = "--deepspeed", *of_launch = "--deepspeed_config_file", *of_script = "--deepspeed_config";
  for (const Words& words : {named(own, first, of_launch, first), named(of_launch, first, own, again),
                             named(of_script, first, own, text), named(of_script, first, of_launch, again)}) {
    INFO(join(words, " "));
    CHECK(mistakes(words).empty());
  }
  CHECK(contains(mistakes(named(of_launch, first, own, other)),
                 "--deepspeed and --deepspeed_config_file say two different things\n  where: --deepspeed and "
                 "--deepspeed_config_file (command line)\n  why: " +
                     other + " against " + first + "\n  try: keep --deepspeed"));
  CHECK(contains(mistakes(named(of_script, first, of_launch, other)),
                 "--deepspeed_config and --deepspeed_config_file say two different things"));
  CHECK(*parse({of_script, first, of_script, other}).arguments.parallel.sharding.strategy == "shard_grad_op");
  const NamedFile both("--config", "run.yaml",
                       "deepspeed:\n  zero_optimization:\n    stage: 1\ndeepspeed_config: " + first + "\n");
  CHECK(both.mistakes().empty());
  CHECK(*both.arguments().parallel.sharding.strategy == "zero1");
  const NamedFile apart("--config", "run.yaml",
                        "deepspeed:\n  zero_optimization:\n    stage: 1\ndeepspeed_config: " + other + "\n");
  CHECK(contains(apart.mistakes(), "deepspeed and deepspeed_config say two different things"));
}

TEST_CASE(
    "of a key that optimizer.params leave out DeepSpeed's default counts, which is told beside a flag") {
  const auto with = [](const std::string& type, const std::string& params) {
    return with_key("\"optimizer\": {\"type\": \"" + type + "\", \"params\": {" + params + "}}");
  };
  const Words flags = {"--learning_rate", "2e-4", "--weight_decay", "0.1", "--adam_beta1", "0.8",
                       "--adam_beta2",    "0.95", "--adam_epsilon", "1e-6"};
  const DeepspeedFile none = with("AdamW", "");
  const OptimizerArguments took = none.arguments(flags).optimizer;
  CHECK(took.learning_rate == 1e-3);
  CHECK(took.weight_decay == 0);
  CHECK(took.adam_beta1 == 0.9);
  CHECK(took.adam_beta2 == 0.999);
  CHECK(took.adam_epsilon == 1e-8);
  const std::string said = none.warnings(flags);
  for (const char* idle : {"learning_rate 0.0002", "weight_decay 0.1", "adam_beta1 0.8", "adam_beta2 0.95",
                           "adam_epsilon 1e-06"})
    CHECK(contains(said, std::string(idle) + " has no effect"));
  CHECK(contains(said, "why: optimizer.params has no lr, of which DeepSpeed's default is 0.001"));
  CHECK(none.notes().empty());
  CHECK(none.notes({"--learning_rate", "1e-3", "--weight_decay", "0"}).empty());
  const DeepspeedFile automatic =
      with("AdamW", R"("lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto")");
  CHECK(automatic.arguments(flags).optimizer.learning_rate == 2e-4);
  CHECK(automatic.notes(flags).empty());
  CHECK(with("SGD", "").arguments(flags).optimizer.adam_beta1 == 0.8);  // which has none
  for (const std::string rate : {"\"auto\"", "2e-4"}) {
    const DeepspeedFile scheduled = with_key(
        R"("optimizer": {"type": "AdamW", "params": {}}, "scheduler": {"type": "WarmupLR", "params": )"
        R"({"warmup_max_lr": )" +
        rate + "}}");
    INFO(rate);
    CHECK(scheduled.arguments({"--learning_rate", "2e-4"}).optimizer.learning_rate == 2e-4);
    CHECK_FALSE(contains(scheduled.notes({"--learning_rate", "2e-4"}), "learning_rate"));
  }
}

TEST_CASE("T12: an optimizer section refuses adafactor and overrules another --optim, which is told") {
  const DeepspeedFile file(kAllAuto);
  CHECK(contains(file.mistakes({"--adafactor"}), "optimizer.type and optim differ"));
  CHECK(contains(file.mistakes({"--optim", "adafactor"}), "AdamW against adafactor"));
  CHECK(file.mistakes({"--optim", "sgd"}).empty());
  CHECK(contains(file.warnings({"--optim", "sgd"}), "optim sgd has no effect"));
  CHECK(file.arguments({"--optim", "sgd"}).optimizer.optim == file.arguments().optimizer.optim);
  CHECK_FALSE(contains(file.warnings({"--optim", "adamw_torch"}), "optim adamw_torch"));
  CHECK(file.mistakes({"--optim", "adamw_torch"}).empty());
}

TEST_CASE("a scheduler section overrules a schedule that flags name, which is told") {
  const DeepspeedFile file =
      with_key(R"("scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-6}})");
  const std::vector<std::string> cosine{"--lr_scheduler_type", "cosine"},
      floor{"--lr_scheduler_type", "cosine_with_min_lr", "--lr_scheduler_kwargs", R"({"min_lr": 1e-5})"};
  for (const auto& flags : {cosine, floor}) {
    CHECK(file.mistakes(flags).empty());
    CHECK(contains(file.warnings(flags), "lr_scheduler_type " + flags[1] + " has no effect"));
    CHECK(file.arguments(flags).schedule.lr_scheduler_type == "WarmupLR");
    CHECK(file.arguments(flags).schedule.lr_scheduler_kwargs == Json{{"warmup_min_lr", 1e-6}});
  }
  CHECK(contains(file.warnings(floor), "lr_scheduler_kwargs"));
  CHECK_FALSE(contains(file.warnings(cosine), "lr_scheduler_kwargs"));
}

TEST_CASE("the params of a scheduler section are the options of its schedule") {
  for (const std::string& type : deepspeed_scheduler_types()) {
    INFO(type);
    const std::vector<SectionKey>& params = deepspeed_scheduler(type)->params;
    CHECK_FALSE(schedule_keys(type).empty());
    CHECK(params.size() == schedule_keys(type).size() + 1);  // last_batch_iteration
    for (const Key& key : schedule_keys(type)) {
      INFO(key.name);
      CHECK(std::any_of(params.begin(), params.end(), [&](const SectionKey& param) {
        return param.name == key.name && param.type == key.type;
      }));
    }
  }
}

TEST_CASE("D1: total_num_steps is held against max_steps, beside every other mismatch") {
  const DeepspeedFile decays = with_key(
      R"("scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 50, "warmup_max_lr": 0.01}})");
  const std::string text = decays.mistakes({"--max_steps", "60", "--learning_rate", "1e-4"});
  CHECK(contains(text, "scheduler.params.total_num_steps and max_steps differ"));
  CHECK(contains(text, "50 against 60"));
  CHECK(contains(text, "scheduler.params.warmup_max_lr and learning_rate differ"));
  CHECK(decays.mistakes({"--max_steps", "50"}).empty());
}

TEST_CASE("scheduler sections") {
  const auto section = [](const std::string& type, const std::string& params) {
    return with_key("\"scheduler\": {\"type\": \"" + type + "\", \"params\": {" + params + "}}");
  };
  const Arguments defaults = section("WarmupLR", "").arguments();
  CHECK(defaults.schedule.warmup_steps == 1000);
  CHECK(defaults.optimizer.learning_rate == 5e-5);
  const DeepspeedFile decays = section("WarmupDecayLR", "\"total_num_steps\": 50");
  CHECK(decays.arguments().optimizer.learning_rate == 1e-3);
  const Words flags = {"--learning_rate", "2e-4", "--warmup_steps", "7"};
  CHECK(decays.arguments(flags).optimizer.learning_rate == 1e-3);
  CHECK(decays.arguments(flags).schedule.warmup_steps == 1000);
  CHECK(contains(decays.warnings(flags), "learning_rate 0.0002 has no effect"));
  CHECK(contains(decays.warnings(flags), "scheduler.params has no warmup_num_steps, of which DeepSpeed's"));
  const Arguments decay = section("WarmupDecayLR", "\"total_num_steps\": 50, \"warmup_num_steps\": 5")
                              .arguments({"--warmup_steps", "0.1"});
  CHECK(*decay.parallel.deepspeed->total_steps == 50);
  CHECK(*decay.parallel.deepspeed->warmup_steps == 5);
  CHECK(decay.schedule.warmup_steps == 0.1);
  CHECK(contains(section("WarmupDecayLR", "").mistakes(), "WarmupDecayLR needs total_num_steps"));
  CHECK(contains(section("WarmupCosLR", "").mistakes(), "scheduler.type 'WarmupCosLR' is unknown"));
  CHECK(contains(section("WarmupLR", "\"warmup_type\": \"cubic\"").notes(), "is unknown and means log"));
  CHECK(section("WarmupLR", "\"warmup_num_steps\": \"auto\"").arguments().schedule.warmup_steps == 0);
  CHECK(section("WarmupLR", "").mistakes({"--lr_scheduler_type", "constant_with_warmup"}).empty());
  CHECK_FALSE(contains(section("WarmupLR", "").warnings({"--lr_scheduler_type", "constant_with_warmup"}),
                       "lr_scheduler_type"));
  const std::string cycle = "\"cycle_min_lr\": 1e-5, \"cycle_max_lr\": 1e-3";
  CHECK(section("OneCycle", cycle).arguments().schedule.lr_scheduler_kwargs ==
        Json{{"cycle_min_lr", 1e-5}, {"cycle_max_lr", 1e-3}});
  const std::string momentum = ", \"cycle_min_mom\": 0.85, \"cycle_max_mom\": 0.95, \"decay_mom_rate\": 0.1";
  CHECK(*section("OneCycle", cycle + momentum).arguments().schedule.lr_scheduler_kwargs ==
        Json{{"cycle_min_lr", 1e-5},
             {"cycle_max_lr", 1e-3},
             {"cycle_min_mom", 0.85},
             {"cycle_max_mom", 0.95},
             {"decay_mom_rate", 0.1}});
  CHECK(contains(section("OneCycle", cycle + ", \"cycle_max_mom\": 1.5").mistakes(), "cycle_max_mom"));
  CHECK(section("LRRangeTest", "\"lr_range_test_step_size\": 20").arguments().schedule.lr_scheduler_kwargs ==
        Json{{"lr_range_test_step_size", 20}});
}

TEST_CASE("the flags of accelerate launch for DeepSpeed") {
  const Arguments two = parse({"--use_deepspeed"}).arguments;
  CHECK(*two.parallel.sharding.strategy == "shard_grad_op");
  const Arguments three = parse({"--use_deepspeed", "--zero_stage", "3", "--offload_param_device", "nvme",
                                 "--offload_param_nvme_path", "/nvme", "--offload_optimizer_device", "cpu",
                                 "--zero3_save_16bit_model", "true", "--gradient_clipping", "0.3"})
                              .arguments;
  CHECK(*three.parallel.sharding.strategy == "full_shard");
  CHECK(*three.parallel.sharding.offload_parameters == "nvme");
  CHECK(*three.parallel.sharding.parameters_path == "/nvme");
  CHECK(*three.parallel.sharding.offload_optimizer == "cpu");
  CHECK(*three.parallel.sharding.state_dict == "full");
  CHECK(three.optimizer.max_grad_norm == 0.3);
  CHECK(contains(mistakes({"--use_deepspeed", "--gradient_clipping", "0.3", "--max_grad_norm", "1"}),
                 "gradient_clipping and max_grad_norm differ"));
  CHECK(contains(mistakes({"--zero_stage", "2", "--offload_param_device", "cpu"}),
                 "offload_param_device needs ZeRO stage 3, not 2"));
  CHECK(contains(mistakes({"--zero_stage", "3", "--offload_param_device", "nvme"}),
                 "needs offload_param_nvme_path"));
  CHECK(contains(mistakes({"--offload_optimizer_device", "cpu"}), "is an option of DeepSpeed training"));
  CHECK(contains(mistakes({"--gradient_clipping", "1"}), "use --max_grad_norm"));
}

TEST_CASE("an empty --deepspeed, as of a script's unset variable, is none") {
  for (const std::string flag : {"--deepspeed", "--deepspeed_config", "--deepspeed_config_file"}) {
    CHECK_FALSE(sharding({flag, ""}).strategy);
    CHECK_FALSE(sharding({flag, " "}).strategy);
    CHECK(*sharding({flag, "", "--fsdp", "full_shard"}).strategy == "full_shard");
  }
  CHECK_FALSE(with_zero("\"stage\": 3").arguments({"--deepspeed", ""}).parallel.sharding.strategy);
  const NamedFile accelerate("--config", "acc.yaml",
                             "distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config:\n"
                             "  deepspeed_config_file: ''\n");
  CHECK(*accelerate.arguments().parallel.sharding.strategy == "shard_grad_op");
}

TEST_CASE("39: deepspeed and fsdp exclude each other") {
  CHECK(contains(DeepspeedFile(kAllAuto).mistakes({"--fsdp", "full_shard"}),
                 "fsdp and deepspeed exclude each other"));
}

TEST_CASE("the environment of an accelerate launch counts only when it is announced") {
  Environment environment({{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "3"},
                           {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "cpu"},
                           {"ACCELERATE_GRADIENT_CLIPPING", "0.5"}});
  CHECK_FALSE(parse({}, environment).arguments.parallel.sharding.strategy);
  environment.set("ACCELERATE_USE_DEEPSPEED", "true");
  const ParseOutcome outcome = parse({}, environment);
  CHECK(*outcome.arguments.parallel.sharding.strategy == "full_shard");
  CHECK(contains(notes(outcome), "the environment asks for DeepSpeed: ACCELERATE_USE_DEEPSPEED=true"));
  CHECK(*outcome.arguments.parallel.sharding.offload_parameters == "cpu");
  CHECK(outcome.arguments.optimizer.max_grad_norm == 0.5);
  CHECK(contains(notes(outcome),
                 "ACCELERATE_DEEPSPEED_ZERO_STAGE=3 of the environment is used as --zero_stage"));
  CHECK(*parse({"--zero_stage", "1", "--offload_param_device", "none"}, environment)
             .arguments.parallel.sharding.strategy == "zero1");
}

TEST_CASE("a DeepSpeed file wins over a variable of the launch, but for its auto, and that is told") {
  const auto outcome = [](const std::string& keys, std::map<std::string, std::string> variables,
                          const Words& words = {}) {
    variables["ACCELERATE_USE_DEEPSPEED"] = "true";
    Words line = {"--deepspeed", R"({"zero_optimization": {)" + keys};
    line.insert(line.end(), words.begin(), words.end());
    return parse(line, Environment(variables));
  };
  const auto idle = [](const ParseOutcome& parsed, const std::string& variable) {
    return contains(notes(parsed), variable + " of the environment has no effect\n  where: --deepspeed") &&
           !contains(notes(parsed), "of the environment is used");
  };
  const ParseOutcome stage = outcome(R"("stage": 3}})", {{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "2"}});
  CHECK(*stage.arguments.parallel.sharding.strategy == "full_shard");
  CHECK(idle(stage, "ACCELERATE_DEEPSPEED_ZERO_STAGE"));
  const ParseOutcome device =
      outcome(R"("stage": 3}})", {{"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "cpu"}});
  CHECK(*device.arguments.parallel.sharding.offload_optimizer == "none");
  CHECK(idle(device, "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE"));
  const ParseOutcome saving = outcome(R"("stage": 3, "stage3_gather_16bit_weights_on_model_save": false}})",
                                      {{"ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", "true"}});
  CHECK(*saving.arguments.parallel.sharding.state_dict == "sharded");
  const ParseOutcome filled = outcome(R"("stage": "auto"}})", {{"ACCELERATE_DEEPSPEED_ZERO_STAGE", "3"}});
  CHECK(*filled.arguments.parallel.sharding.strategy == "full_shard");
  CHECK(contains(notes(filled), "ACCELERATE_DEEPSPEED_ZERO_STAGE=3 of the environment is used"));
  // What is a flag of the Trainer's, too.
  const ParseOutcome steps = outcome(R"("stage": 2}, "gradient_accumulation_steps": 4})",
                                     {{"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "2"}});
  CHECK(steps.arguments.batch.gradient_accumulation_steps == 4);
  CHECK(idle(steps, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"));
  const ParseOutcome precision =
      outcome(R"("stage": 2}, "bf16": {"enabled": false}})", {{"ACCELERATE_MIXED_PRECISION", "bf16"}});
  CHECK_FALSE(precision.arguments.precision.bf16);
  CHECK(idle(precision, "ACCELERATE_MIXED_PRECISION"));
  const ParseOutcome clipping =
      outcome(R"("stage": 2}, "gradient_clipping": 0.25})", {{"ACCELERATE_GRADIENT_CLIPPING", "0.5"}});
  CHECK(clipping.arguments.optimizer.max_grad_norm == 0.25);
  CHECK(outcome(R"("stage": 2}})", {{"ACCELERATE_GRADIENT_CLIPPING", "0.5"}}, {"--max_grad_norm", "2"})
            .arguments.optimizer.max_grad_norm == 2);
}

TEST_CASE(
    "a folder on NVMe that fills no auto of the file is missed once, and it is said what would take it") {
  const DeepspeedFile file(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "auto"}}})");
  const Environment environment({{"ACCELERATE_USE_DEEPSPEED", "true"},
                                 {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "nvme"},
                                 {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_NVME_PATH", "/fast"}});
  const std::string text = mistakes(file.with(), environment);
  CHECK(contains(text, "\"nvme_path\": \"auto\", which offload_optimizer_nvme_path fills"));
  CHECK_FALSE(contains(text, "needs offload_optimizer_nvme_path"));
  const DeepspeedFile filled(
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "auto", "nvme_path": "auto"}}})");
  CHECK(*parse(filled.with(), environment).arguments.parallel.sharding.optimizer_path == "/fast");
}

TEST_CASE("the momentum of OneCycle does not cycle for an optimizer without betas, and that is said") {
  const char* const kKeys = R"({"zero_optimization": {"stage": 1},
    "scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 1e-5, "cycle_max_lr": 1e-3}}})";
  const ParseOutcome sgd = DeepspeedFile(kKeys).outcome({"--optim", "sgd"});
  CHECK(contains(notes(sgd), "OneCycle: the momentum does not cycle, for sgd has no betas"));
  CHECK((*sgd.arguments.schedule.lr_scheduler_kwargs)["cycle_momentum"] == false);
  CHECK_FALSE(contains(DeepspeedFile(kKeys).notes({"--optim", "lion"}), "does not cycle"));
}

TEST_CASE("auto that accelerate does not fill is as if the key were absent, as for DeepSpeed") {
  const DeepspeedFile file(
      R"({"zero_optimization": {"stage": 3, "overlap_comm": "auto", "round_robin_gradients": "auto",
      "offload_optimizer": {"device": "cpu", "pin_memory": "auto", "buffer_count": "auto"}},
    "bf16": {"enabled": true, "check_grad_overflow": "auto"}})");
  CHECK(file.mistakes().empty());
  CHECK_FALSE(file.arguments().parallel.sharding.buffer_count);
  CHECK(contains(DeepspeedFile(R"({"zero_optimization": {"stage": 2}, "dump_state": "auto"})").mistakes(),
                 "dump_state"));
}

TEST_CASE("auto in amp is off, as up to 4.57, and in comms_logger and timers as if the key were absent") {
  for (const char* const off :
       {R"("amp": {"enabled": "auto", "opt_level": "auto"})", R"("amp": {"opt_level": "O1"})"}) {
    INFO(off);
    CHECK(with_key(off).mistakes().empty());
    CHECK(contains(with_key(off).notes(), "keys without effect here: amp (it is off)"));
  }
  CHECK(contains(with_key(R"("amp": {"enabled": true})").mistakes(), "there is no Apex here"));
  CHECK(contains(with_key(R"("elasticity": {"enabled": "auto"})").mistakes(), "elasticity"));
  CHECK(with_key(R"("comms_logger": {"enabled": "auto", "prof_ops": "auto"})").mistakes().empty());
  CHECK(with_key(R"("timers": {"throughput": {"enabled": "auto", "synchronized": "auto"}})")
            .mistakes()
            .empty());
  for (const char* const unknown : {R"("comms_logger": {"nope": "auto"})", R"("nope": "auto")"})
    CHECK(contains(with_key(unknown).mistakes(), "unknown key 'nope'"));
}

TEST_CASE("accelerate fills an auto of stage3_gather_16bit_weights_on_model_save with its own flag") {
  const DeepspeedFile file(
      R"({"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": "auto"}})");
  CHECK(*file.arguments().parallel.sharding.state_dict == "sharded");
  CHECK(file.arguments().parallel.sharding.state_dict_filled_in);
  CHECK(*file.arguments({"--zero3_save_16bit_model", "true"}).parallel.sharding.state_dict == "full");
  CHECK_FALSE(file.arguments({"--zero3_save_16bit_model", "false"}).parallel.sharding.state_dict_filled_in);
}

TEST_CASE("accelerate fills an auto of the stage and of offload with its own flags, or with 2 and none") {
  const DeepspeedFile file(R"({"zero_optimization": {"stage": "auto",
    "offload_optimizer": {"device": "auto", "nvme_path": "auto"}, "offload_param": {"device": "auto"}}})");
  const ParallelOptions alone = file.arguments().parallel.sharding;
  CHECK(*alone.strategy == "shard_grad_op");
  CHECK(*alone.offload_optimizer == "none");
  CHECK(*alone.offload_parameters == "none");
  CHECK(contains(file.notes(), "zero_optimization.stage auto is 2"));
  const std::vector<std::string> launch = {"--use_deepspeed",
                                           "--zero_stage",
                                           "3",
                                           "--offload_param_device",
                                           "cpu",
                                           "--offload_optimizer_device",
                                           "nvme",
                                           "--offload_optimizer_nvme_path",
                                           "/nvme"};
  const ParallelOptions filled = file.arguments(launch).parallel.sharding;
  CHECK(*filled.strategy == "full_shard");
  CHECK(*filled.offload_parameters == "cpu");
  CHECK(*filled.offload_optimizer == "nvme");
  CHECK(*filled.optimizer_path == "/nvme");
  CHECK_FALSE(contains(file.notes(launch), "stage auto"));
  CHECK(contains(file.mistakes({"--zero_stage", "2", "--offload_param_device", "cpu"}),
                 "offload_param needs stage 3"));
}

TEST_CASE("what print_config writes of a DeepSpeed run is read back as the same run") {
  const DeepspeedFile file(kExplicit);
  const ParseOutcome first = parse(file.with());
  const std::string path = write(file.folder / "back.yaml", print_config(first, "full"));
  const ParseOutcome second = parse_arguments(Words{"--config", path}, {});
  CHECK(arguments_json(second) == arguments_json(first));
  CHECK(*second.arguments.parallel.sharding.strategy == "zero1");
}

TEST_CASE("use_node_local_storage is save_on_each_node") {
  CHECK(with_key("\"checkpoint\": {\"use_node_local_storage\": true}").arguments().saving.save_on_each_node);
  const DeepspeedFile off = with_key("\"checkpoint\": {\"use_node_local_storage\": false}");
  CHECK_FALSE(off.arguments().saving.save_on_each_node);
  CHECK(off.arguments({"--save_on_each_node"}).saving.save_on_each_node);
}

TEST_CASE("a vocabulary that tensor cores do not like is warned of") {
  CHECK(contains(with_key("\"vocabulary_size\": 50257").notes(), "vocabulary_size is not a multiple of 8"));
  CHECK_FALSE(contains(with_key("\"vocabulary_size\": 50304").notes(), "vocabulary_size"));
}

TEST_CASE(
    "communication_data_type is told to do nothing in stage 0, where DDP reduces in the weights' type") {
  const auto told = [](const std::string& stage, const std::string& type) {
    return contains(DeepspeedFile("{\"zero_optimization\": {\"stage\": " + stage +
                                  "}, \"communication_data_type\": \"" + type + "\"}")
                        .notes(),
                    "communication_data_type (in stages 1 to 3 only)");
  };
  CHECK(told("0", "bf16"));
  CHECK_FALSE(told("0", "fp32"));
  CHECK_FALSE(told("1", "bf16"));
}

}  // namespace hftrain::arguments
