// Every form that --print_config prints is read back as the same run: the same arguments, sharding and plan.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/base/file.h"
#include "resolve_case.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/temporary_directory.h"

namespace hftrain::plan {
namespace {

using Words = std::vector<std::string>;

const std::string kConfigs = testing::source_dir() + "/configs";
const std::string kExamples = testing::source_dir() + "/tests/golden/configurations";
// What a run needs, as far as a configuration does not say it.
const Words kModel = {"--model_type",       "gpt2",
                      "--config_overrides", "n_layer=2,n_embd=8,n_head=2,vocab_size=100,n_positions=64",
                      "--train_file",       "a.txt"};

// One command line and where it runs.
struct Configuration {
  Words words;
  Topology machine = hftrain::plan::machine(0);
  Environment environment;
};

// All that a run is made of. A configuration that is refused has its mistakes instead of a plan.
struct Reading {
  arguments::ParseOutcome parsed;
  size_t mistakes = 0;
  Json plan;
  std::set<std::string> remarks;  // what notes and warnings say, without their places
};

// Places differ by nature, and an old name is printed as the new one; the number of mistakes does not.
size_t count_mistakes(const Error& error) {
  return error.diagnostics().size();
}

void remark(Reading& reading, const std::vector<Diagnostic>& notes) {
  // A flag of the command line is written with its dashes, one of a file without.
  for (const Diagnostic& note : notes)
    reading.remarks.insert(note.what.substr(note.what.starts_with("--") ? 2 : 0));
}

Reading read(const Configuration& configuration, const Words& words) {
  Reading reading;
  try {
    reading.parsed = arguments::parse_arguments(words, configuration.environment);
    Case run({}, configuration.machine);
    run.parsed = reading.parsed;
    run.environment = configuration.environment;
    const arguments::ModelArguments& model = run.parsed.arguments.model;
    run.model.architecture = architectures::Architecture::from_scratch(model.model_type.value_or("gpt2"),
                                                                       model.config_overrides.value_or(""));
    const RunPlan plan = run.plan();
    reading.plan = to_json_value(plan);
    remark(reading, reading.parsed.notes);
    remark(reading, plan_notes(run.input(), plan));
  } catch (const arguments::InvalidArguments& error) {
    reading.parsed = error.read();
    reading.mistakes = count_mistakes(error);
  } catch (const Error& error) {
    reading.mistakes = count_mistakes(error);
  }
  return reading;
}

// A default of a flag that nothing reads says nothing, and `minimal` leaves it out.
Json typed(const arguments::ParseOutcome& parsed) {
  Json all = arguments::arguments_json(parsed);
  for (const arguments::Flag* flag : arguments::flag_table().flags()) {
    const std::string name(flag->name);
    if (flag->slot.get == nullptr && all.contains(name) && all[name] == flag->default_value())
      all.erase(name);
  }
  all["strategy"] = parsed.arguments.parallel.sharding.strategy.value_or("");
  return all;
}

void check_round_trip(const Configuration& configuration) {
  const testing::TemporaryDirectory folder;
  const Reading first = read(configuration, configuration.words);
  for (const char* form : {"full", "minimal", "origins"}) {
    INFO(form);
    const std::string printed = arguments::print_config(first.parsed, form);
    INFO(printed);
    std::ofstream(folder / "back.yaml") << printed;
    const Reading second = read(configuration, {"--config", folder / "back.yaml"});
    CHECK(second.mistakes == first.mistakes);
    CHECK(typed(second.parsed) == typed(first.parsed));
    CHECK(second.parsed.exported_environment == first.parsed.exported_environment);
    CHECK(second.plan == first.plan);
    // Nobody is told of a flag that he did not give. (What was said of an old name is no longer said.)
    for (const std::string& said : second.remarks) {
      INFO(said);
      CHECK(first.remarks.count(said) == 1);
    }
    // And what is printed of that is the same text again.
    if (std::string(form) != "origins") CHECK(arguments::print_config(second.parsed, form) == printed);
  }
}

Words with_model(Words words) {
  words.insert(words.end(), kModel.begin(), kModel.end());
  return words;
}

}  // namespace

TEST_CASE("what print_config prints of every file in configs/ is read back as the same plan") {
  int count = 0;
  std::vector<std::string> files = {kConfigs + "/cluster/run.yaml"};
  for (const auto& file : std::filesystem::directory_iterator(kConfigs)) {
    if (file.path().extension() == ".yaml") files.push_back(file.path());
  }
  for (const std::string& file : files) {
    INFO(file);
    check_round_trip({.words = {"--config", file}});
    check_round_trip({.words = {"--config", file}, .machine = machine(8)});
    ++count;
  }
  CHECK(count >= 5);
}

TEST_CASE("what print_config prints of others' files is read back as the same plan") {
  const testing::TemporaryDirectory folder;
  std::string by_file = read_file(kExamples + "/accelerate_deepspeed_file.yaml");
  by_file = std::regex_replace(by_file, std::regex("FOLDER"), kExamples);
  std::ofstream(folder / "deepspeed_file.yaml") << by_file;
  const std::vector<Words> runs = {
      {"--config", kExamples + "/accelerate_two_machines.yaml"},
      {"--config", kExamples + "/accelerate_fsdp.yaml"},
      {"--config", kExamples + "/accelerate_zero3.yaml", "--gradient_accumulation_steps", "2",
       "--max_grad_norm", "0.5"},
      {"--config", folder / "deepspeed_file.yaml"},
      {"--config", kExamples + "/accelerate_cpu.yaml"},
      {"--deepspeed", kExamples + "/zero2_auto.json", "--bf16", "--learning_rate", "1e-4", "--warmup_steps",
       "50"},
      {"--deepspeed", kExamples + "/zero2_auto.json", "--warmup_ratio", "0.1", "--max_steps", "500"},
      {"--deepspeed", kExamples + "/zero3_offload_auto.json"},
      {"--deepspeed", kExamples + "/zero3_nvme.json"},
      {"--deepspeed", kExamples + "/zero1_explicit.json"},
      {"--fsdp", "full_shard auto_wrap", "--fsdp_config", kExamples + "/fsdp_v1.json"},
      {"--fsdp", "true", "--fsdp_config", kExamples + "/fsdp_v2.json"},
  };
  for (const Words& run : runs) {
    for (const Topology& where : {machine(0), machine(2), machine(4)}) {
      for (const Words& ranks : {Words{}, Words{"--nproc_per_node", "2"}}) {
        Words words = with_model(run);
        words.insert(words.end(), ranks.begin(), ranks.end());
        INFO(run[1] << ", " << where.devices.size() << " GPUs, " << ranks.size());
        check_round_trip({.words = words, .machine = where});
      }
    }
  }
  check_round_trip({.words = {"--config", kExamples + "/flat.yaml"}});
  check_round_trip(
      {.words = {"--config", kExamples + "/flat.yaml", "--max_steps", "20"}, .machine = machine(2)});
  check_round_trip({.words = {"--config", kExamples + "/accelerate_fsdp.yaml", "--config",
                              kExamples + "/flat.yaml", "--learning_rate", "5e-5"}});
}

TEST_CASE("what print_config prints of command lines is read back as the same plan") {
  const std::vector<Words> runs = {
      {},
      {"--eval_strategy", "epoch"},
      {"--eval_strategy", "steps", "--logging_steps", "20", "--load_best_model_at_end"},
      {"--do_eval"},
      {"--do_eval", "--eval_strategy", "epoch"},
      {"--do_predict", "--test_file", "t.txt", "--eval_strategy", "steps"},
      {"--do_train", "--do_eval"},
      {"--use_liger_kernel", "false"},
      {"--use_liger_kernel"},
      {"--liger_kernel_config", R"({"rope": true})"},
      {"--hostfile", "/job/hostfile", "--no_ssh", "--node_rank", "0"},
      {"--nnodes", "2", "--node_rank", "0", "--master_addr", "127.0.0.1"},
      {"--nnodes", "1", "--master_port", "29500"},
      {"--num_processes", "8", "--num_machines", "4", "--machine_rank", "3", "--main_process_ip", "h"},
      {"--rdzv_endpoint", "h:1234", "--nnodes", "2", "--node_rank", "1", "--rdzv_backend", "c10d"},
      {"--num_gpus", "2"},
      {"--num-accelerators", "2"},
      {"--multi_gpu", "--num_processes", "2"},
      {"--gpu_ids", "1,0"},
      {"--gpu_ids", "all"},
      {"--gpu_ids", "0", "--use_cpu"},
      {"--accelerator_config",
       R"({"split_batches": true, "gradient_accumulation_kwargs": {"num_steps": 4}})"},
      {"--accelerator_config", R"({"gradient_accumulation_kwargs": {"sync_each_batch": true}})"},
      {"--accelerator_config", R"({"dispatch_batches": true, "use_seedable_sampler": false})"},
      {"--gradient_checkpointing", "--gradient_checkpointing_kwargs",
       R"({"use_reentrant": true, "offload": true})"},
      {"--torch_compile"},
      {"--torch_compile_mode", "default", "--tf32", "false"},
      {"--tf32", "true"},
      {"--mixed_precision", "bf16"},
      {"--mixed_precision", "fp16"},
      {"--mixed_precision", "no"},
      {"--bf16", "--mixed_precision", "fp16"},
      {"--mixed_precision", "bf16", "--bf16", "false"},
      {"--mixed_precision", "fp16", "--fp16", "false"},
      {"--fp16", "--bf16"},
      {"--optim", "lion", "--optim_args", "b=1"},
      {"--lr_scheduler_type", "polynomial", "--lr_scheduler_kwargs", R"({"power": 2, "lr_end": 1e-8})"},
      {"--lr_scheduler_type", "reduce_lr_on_plateau", "--eval_strategy", "epoch"},
      {"--lr_scheduler_type", "linear", "--lr_scheduler_kwargs", "{}"},
      {"--warmup_ratio", "0.03"},
      {"--warmup_ratio", "1", "--hf_compat", "4.57", "--output_dir", "out", "--report_to", "none"},
      {"--max_steps", "7", "--num_train_epochs", "3"},
      {"--report_to", "all"},
      {"--report_to", "none"},
      {"--hf_compat", "4.57", "--output_dir", "out"},
      {"--hf_compat", "4.57", "--output_dir", "out", "--report_to", "none", "--run_name", "mine"},
      {"--logging_strategy", "epoch", "--logging_steps", "20", "--eval_strategy", "steps"},
      {"--save_strategy", "no", "--save_steps", "20", "--logging_dir", "boards", "--data_seed", "3"},
      {"--log_level", "error", "--tee", "3", "--local_ranks_filter", "0", "--log_ranks", "0"},
      {"--resume_from_checkpoint", "false"},
      {"--save_strategy", "best", "--eval_strategy", "epoch", "--metric_for_best_model", "accuracy"},
      {"--per_gpu_train_batch_size", "3", "--evaluation_strategy", "no", "--no_cuda"},
      {"--fsdp", "full_shard offload", "--fsdp_config", R"({"min_num_params": 2000})"},
      {"--fsdp", "hybrid_shard", "--parallelism_config", R"({"dp_replicate_size": 2, "dp_shard_size": 2})",
       "--nproc_per_node", "4"},
      {"--sharded_ddp", "zero_dp_2 offload", "--nproc_per_node", "2"},
      {"--use_fsdp", "--fsdp_sharding_strategy", "SHARD_GRAD_OP", "--nproc_per_node", "2"},
      {"--use_deepspeed", "--zero_stage", "3", "--offload_param_device", "cpu", "--nproc_per_node", "2"},
      {"--ddp_bucket_cap_mb", "10", "--fsdp", "full_shard", "--nproc_per_node", "2"},
      {"--group_by_length"},
      {"--hub_token", "secret", "--push_to_hub"},
      {"--use_peft"},
      {"--use_peft", "--lora_r", "4", "--lora_target_modules", "all-linear"},
      {"--fp8_format", "HYBRID", "--megatron_lm_tp_degree", "2", "--megatron_lm_pp_degree", "2"},
      {"--num_cpu_threads_per_process", "3", "--role", "trainer"},
      {"--run_name", "[a, b]: {c} # d 'e' \"f\" \\g %% \t h\ni"},
      {"--run_name", "no"},
      {"--run_name", "1e5"},
      {"--run_name", ""},
      {"--run_name=-x"},
      {"--run_name", "\xC3\xA9\xE2\x80\xA8\x7F\x01"},
      {"--duplicate_stdout_filters", "a", "b"},
      {"--validation_split_percentage", "null"},
      {"--eval_delay", "null", "--load_best_model_at_end", "null"},
      {"--quiet", "--color", "never", "--progress", "none"},
      {"--smoke"},
  };
  for (const Words& run : runs) {
    for (const int gpus : {0, 2}) {
      INFO((run.empty() ? std::string("no flags") : run.front() + ' ' + (run.size() > 1 ? run[1] : ""))
           << ", " << gpus << " GPUs");
      check_round_trip({.words = with_model(run), .machine = machine(gpus)});
    }
  }
}

TEST_CASE("what print_config prints is read back as the same plan in the same environment") {
  Environment environment;
  environment.set("CUDA_VISIBLE_DEVICES", "1");
  environment.set("PET_NPROC_PER_NODE", "2");
  environment.set("TENSORBOARD_LOGGING_DIR", "boards");
  check_round_trip(
      {.words = with_model({"--gpu_ids", "0"}), .machine = machine(2, "1"), .environment = environment});
  check_round_trip({.words = with_model({}), .environment = environment});
  Environment launched;
  launched.set("ACCELERATE_USE_FSDP", "true");
  launched.set("ACCELERATE_MIXED_PRECISION", "bf16");
  check_round_trip({.words = with_model({"--bf16", "false"}), .environment = launched});
}

TEST_CASE("keys of a mapping do not vanish from what print_config prints") {
  const Case run({"--print_config", "--accelerator_config",
                  R"({"dispatch_batches": true, "non_blocking": true,
                      "gradient_accumulation_kwargs": {"sync_each_batch": true, "adjust_scheduler": false}})",
                  "--gradient_checkpointing_kwargs", R"({"offload": true, "use_reentrant": true})"});
  const std::string printed = arguments::print_config(run.parsed, "minimal");
  CHECK(contains(printed, "dispatch_batches: true"));
  CHECK(contains(printed, "sync_each_batch: true"));
  CHECK(contains(printed, "offload: true"));
  // Accepted, without a member of their own.
  CHECK(contains(printed, "non_blocking: true"));
  CHECK(contains(printed, "adjust_scheduler: false"));
  CHECK(contains(printed, "use_reentrant: true"));
}

TEST_CASE("a default that says more than silence is printed as a comment until someone gives it") {
  const std::string silent = arguments::print_config(Case().parsed, "full");
  CHECK(contains(silent, "\n# hostfile: /job/hostfile\n"));
  CHECK(contains(silent, "\n# use_liger_kernel: false\n"));
  // It follows the folder that is named when this is read back.
  CHECK(contains(arguments::print_config(Case({"--hf_compat", "4.57"}).parsed, "full"),
                 "\n# run_name: trainer_output\n"));
  CHECK(contains(silent, "\nlearning_rate: 5.0e-05\n"));
  const Case said({"--use_liger_kernel", "false"});
  CHECK(contains(arguments::print_config(said.parsed, "full"), "\nuse_liger_kernel: false\n"));
  CHECK(contains(arguments::print_config(said.parsed, "minimal"), "\nuse_liger_kernel: false\n"));
}

}  // namespace hftrain::plan
