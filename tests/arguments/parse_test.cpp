#include "hftrain/arguments/parse.h"

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/arguments/value.h"
#include "support.h"
#include "support/catch.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return Environment(std::move(variables));
}

}  // namespace

TEST_CASE("origins say where every value comes from") {
  const ParseOutcome outcome = parse({"--seed", "3", "--eval-strategy=steps", "--use_cpu"},
                                     environment({{"TENSORBOARD_LOGGING_DIR", "/tb"}}));
  CHECK(outcome.origins.of("seed") == "--seed");
  CHECK(outcome.origins.of("eval_strategy") == "--eval-strategy");
  CHECK(outcome.origins.of("learning_rate") == "default");
  CHECK(outcome.origins.of("logging_dir") == "environment TENSORBOARD_LOGGING_DIR");
  CHECK(outcome.origins.of("eval_steps") == "from logging_steps");
  CHECK(outcome.origins.of("do_eval") == "from eval_strategy");
  CHECK(outcome.origins.of("dataloader_pin_memory") == "from use_cpu");
  CHECK_FALSE(outcome.arguments.data.dataloader_pin_memory);
  CHECK(outcome.arguments.logging.logging_dir == "/tb");
  CHECK(contains(notes(outcome), "TENSORBOARD_LOGGING_DIR=/tb of the environment is used as --logging_dir"));
  CHECK_FALSE(contains(notes(outcome), "logging_dir has no effect"));
}

TEST_CASE("only named variables of the environment count") {
  const Environment hostile = environment({{"HFTRAIN_SEED", "1"},
                                           {"SEED", "2"},
                                           {"LEARNING_RATE", "3"},
                                           {"ACCELERATE_MIXED_PRECISION", "bf16"},
                                           {"HOME", "/nonexistent"}});
  const ParseOutcome outcome = parse({}, hostile);
  CHECK(arguments_json(outcome) == arguments_json(parse({})));
  CHECK(parse({"--nproc_per_node", "2"}, environment({{"PET_NPROC_PER_NODE", "4"}}))
            .arguments.launch.nproc_per_node == "2");
  CHECK(parse({}, environment({{"PET_NNODES", "2"}})).arguments.launch.nnodes == "2");
}

TEST_CASE("old names set the new ones and say so") {
  const ParseOutcome outcome =
      parse({"--per_gpu_train_batch_size", "4", "--evaluate_during_training", "--no_cuda", "--torch_dtype",
             "bfloat16", "--include_tokens_per_second", "--n_train", "10", "--num_processes", "2",
             "--xpu_backend", "gloo", "--split_batches", "true"});
  const Arguments& a = outcome.arguments;
  CHECK(a.batch.per_device_train_batch_size == 4);
  CHECK(a.evaluation.eval_strategy == "steps");
  CHECK(a.device.use_cpu);
  CHECK(a.model.dtype == "bfloat16");
  CHECK(a.logging.include_num_input_tokens_seen == "all");
  CHECK(parse({"--include_num_input_tokens_seen", "1"}).arguments.logging.include_num_input_tokens_seen ==
        "all");
  CHECK(parse({"--include_num_input_tokens_seen", "0"}).arguments.logging.include_num_input_tokens_seen ==
        "no");
  CHECK(parse({"--hf_compat", "4.46.3"}).arguments.hub.hub_private_repo == false);
  CHECK(a.data.max_train_samples == 10);
  CHECK(a.launch.nproc_per_node == "2");
  CHECK(a.parallel.ddp_backend == "gloo");
  CHECK(a.parallel.accelerator_config->split_batches);
  const std::string text = notes(outcome);
  CHECK(contains(text, "--no_cuda is an old name\n  where: command line\n  try: use --use_cpu true"));
  CHECK(contains(
      text,
      "--evaluate_during_training is an old name\n  where: command line\n  try: use --eval_strategy steps"));
  CHECK_FALSE(contains(text, "--num_processes"));
}

TEST_CASE("old names at their neutral value do nothing") {
  const ParseOutcome outcome =
      parse({"--no_cuda", "false", "--n_train", "-1", "--adafactor", "no", "--num_gpus", "-1"});
  CHECK_FALSE(outcome.arguments.device.use_cpu);
  CHECK_FALSE(outcome.arguments.data.max_train_samples);
  CHECK_FALSE(outcome.arguments.launch.nproc_per_node);
  CHECK(outcome.notes.empty());
}

TEST_CASE("an old name at its neutral value wins over earlier layers, as every later value does") {
  struct Row {
    const char* file;
    Words line;
    const char* flag;  // has its default again
  };
  const Row rows[] = {
      {"no_cuda: true", {"--no_cuda", "false"}, "use_cpu"},
      {"use_cpu: true", {"--no_cuda", "false"}, "use_cpu"},
      {"adafactor: true", {"--adafactor", "false"}, "optim"},
      {"optim: sgd", {"--adafactor", "false"}, "optim"},
      {"n_train: 5", {"--n_train=-1"}, "max_train_samples"},
      {"max_train_samples: 5", {"--n_train=-1"}, "max_train_samples"},
      {"n_val: 5", {"--n_val=-1"}, "max_eval_samples"},
      {"n_test: 5", {"--n_test=-1"}, "max_predict_samples"},
      {"warmup_ratio: 0.1", {"--warmup_ratio", "0"}, "warmup_steps"},
      {"warmup_steps: 10", {"--warmup_ratio", "0"}, "warmup_steps"},
      {"evaluate_during_training: true", {"--evaluate_during_training", "false"}, "eval_strategy"},
      {"include_tokens_per_second: true",
       {"--include_tokens_per_second", "false"},
       "include_num_input_tokens_seen"},
      {"num_processes: 3", {"--num_gpus=-1"}, "nproc_per_node"},
  };
  for (const Row& row : rows) {
    INFO(row.file << " and " << row.line.front());
    const NamedFile file("--config", "run.yaml", std::string(row.file) + '\n');
    const Flag& flag = flag_table().named(row.flag);
    CHECK(flag.slot.get(file.arguments()) != flag.default_value());
    CHECK(flag.slot.get(file.arguments(row.line)) == flag.default_value());
  }
  CHECK_FALSE(parse({"--n_train", "5", "--n_train=-1"}).arguments.data.max_train_samples);
}

TEST_CASE("every old name that has a value takes it back at its default") {
  int taken_back = 0;
  for (const Flag* flag : flag_table().flags()) {
    const Json neutral = flag->default_value();
    if (flag->replaced_by.flag.empty() || neutral.is_null() || !flag->replaced_by.key.empty()) continue;
    INFO(flag->name);
    std::string value = flag->slot.type == Type::kBool ? "true" : "3";
    for (const Choice& choice : flag->choices) {
      if (choice.word != neutral && choice.support.status == Support::kImplemented) value = choice.word;
    }
    const NamedFile file("--config", "run.yaml", std::string(flag->name) + ": " + value + '\n');
    if (!file.mistakes().empty()) continue;  // planned, or of no use alone
    const Flag& target = flag_table().named(flag->replaced_by.flag);
    const std::string text = neutral.is_string() ? neutral.get<std::string>() : neutral.dump();
    const ParseOutcome outcome = file.outcome({option(*flag) + '=' + text});
    const auto unread = outcome.unread.find(std::string(target.name));
    const bool left = unread != outcome.unread.end() && unread->second != target.default_value();
    CHECK_FALSE(left);
    if (target.slot.get != nullptr) CHECK(target.slot.get(outcome.arguments) == target.default_value());
    ++taken_back;
  }
  CHECK(taken_back >= 8);
}

TEST_CASE("an old switch that was one of its own adds to what the new name says") {
  const auto metrics = [](const Words& words) {
    return parse(words).arguments.evaluation.include_for_metrics;
  };
  const Words both = {"loss", "inputs"};
  CHECK(metrics({"--include_inputs_for_metrics", "--include_for_metrics", "loss"}) == both);
  CHECK(metrics({"--include_for_metrics", "loss", "inputs", "--include_inputs_for_metrics"}) == both);
  CHECK(metrics({"--include_inputs_for_metrics", "false", "--include_for_metrics", "loss"}) == Words{"loss"});
  const NamedFile list("--config", "run.yaml", "include_for_metrics: [loss]\n");
  CHECK(list.arguments({"--include_inputs_for_metrics"}).evaluation.include_for_metrics == both);
  const NamedFile dump("--config", "args.json",
                       R"({"include_tokens_per_second": true, "include_num_input_tokens_seen": false,
    "include_inputs_for_metrics": true, "include_for_metrics": ["loss", "inputs"]})");
  CHECK(dump.arguments().logging.include_num_input_tokens_seen == "all");
  CHECK(dump.arguments().evaluation.include_for_metrics == both);
  CHECK(parse({"--include_num_input_tokens_seen", "non_padding", "--include_tokens_per_second"})
            .arguments.logging.include_num_input_tokens_seen == "non_padding");
}

TEST_CASE("a neutral old name says nothing beside a new one of its own layer") {
  const NamedFile file("--config", "run.yaml",
                       "use_cpu: true\nno_cuda: false\noptim: sgd\nadafactor: false\n");
  CHECK(file.arguments().device.use_cpu);
  CHECK(file.arguments().optimizer.optim == "sgd");
}

TEST_CASE("keys of old names join the mapping of an earlier layer") {
  const auto options = [](const std::string& text, const Words& words) {
    return *NamedFile("--config", "run.yaml", text).arguments(words).schedule.lr_scheduler_kwargs;
  };
  const std::string power =
      "lr_scheduler_type: polynomial\nlr_scheduler_kwargs: {power: 2.0, lr_end: 1e-8}\n";
  CHECK(options(power, {"--poly_power", "1.0"}) == Json{{"power", 1.0}, {"lr_end", 1e-8}});
  CHECK(options(power, {"--poly_power", "3.0"}) == Json{{"power", 3.0}, {"lr_end", 1e-8}});
  CHECK(options("lr_scheduler_type: polynomial\npoly_power: 2.0\n", {"--poly_power", "1.0"}) ==
        Json{{"power", 1.0}});
  const std::string cosine = "lr_scheduler_type: cosine\nlr_scheduler_kwargs: {num_cycles: 0.25}\n";
  CHECK(options(cosine, {"--poly_power", "1.0"}) == Json{{"num_cycles", 0.25}});
}

TEST_CASE("a warmup of 0 is none, beside the other name of it") {
  CHECK(parse({"--warmup_ratio", "0.1", "--warmup_steps", "0"}).arguments.schedule.warmup_steps == 0.1);
  CHECK(parse({"--warmup_ratio", "0.0", "--warmup_steps", "7"}).arguments.schedule.warmup_steps == 7);
  CHECK(parse({"--warmup_ratio", "0", "--warmup_steps", "0"}).arguments.schedule.warmup_steps == 0);
}

TEST_CASE("0 of the old names of batch sizes is as good as not given") {
  const auto sizes = [](const Words& words) {
    const BatchArguments batch = parse(words).arguments.batch;
    return std::pair(batch.per_device_train_batch_size, batch.per_device_eval_batch_size);
  };
  CHECK(sizes({"--per_gpu_train_batch_size", "0", "--per_gpu_eval_batch_size", "0"}) ==
        std::pair<int64_t, int64_t>(8, 8));
  CHECK(sizes({"--per_gpu_train_batch_size", "0", "--per_device_train_batch_size", "2"}) ==
        std::pair<int64_t, int64_t>(2, 8));
  CHECK(contains(mistakes({"--per_gpu_train_batch_size", "-1"}), "-1 is not a whole number >= 1"));
}

TEST_CASE("report_to null of a file is the default of the release") {
  const NamedFile file("--config", "run.yaml", "report_to: null\n");
  CHECK(file.arguments().logging.report_to.empty());
  const std::vector<std::string> all = file.arguments({"--hf_compat", "4.57"}).logging.report_to;
  CHECK(all == parse({"--report_to", "all"}).arguments.logging.report_to);
  CHECK(contains(notes(parse({"--hf_compat", "4.57"})), "every tracker is on: tensorboard"));
  CHECK_FALSE(contains(notes(parse({"--hf_compat", "4.57", "--report_to", "all"})), "every tracker is on"));
  const NamedFile none("--config", "run.yaml", "report_to: none\n");
  CHECK(none.arguments({"--hf_compat", "4.57"}).logging.report_to.empty());
}

TEST_CASE("up to transformers 4.57 a run without a name has that of its folder") {
  const auto name = [](const Words& words) { return parse(words).arguments.logging.run_name; };
  CHECK(name({"--hf_compat", "4.57"}) == "out");
  CHECK(name({"--hf_compat", "4.49.0", "--run_name", "mine"}) == "mine");
  CHECK_FALSE(name({"--hf_compat", "5.0.0"}));
  CHECK_FALSE(name({}));
  CHECK(parse({"--hf_compat", "4.57"}).origins.of("run_name") == "from output_dir");
}

TEST_CASE("what a rule has filled in is known as such, not by the words of its origin") {
  Origins origins;
  origins.set_filled_in("run_name", "output_dir");
  CHECK(origins.of("run_name") == "from output_dir");
  CHECK(origins.filled_in_by("run_name") == "output_dir");
  CHECK_FALSE(origins.is_given("run_name"));
  CHECK_FALSE(origins.is_default("run_name"));
  origins.set("run_name", "from output_dir:3:7");  // a file of that name
  CHECK(origins.filled_in_by("run_name").empty());
  CHECK(origins.is_given("run_name"));
}

TEST_CASE("an old and a new name that disagree are an error, except where the old one wins") {
  CHECK(contains(mistakes({"--warmup_steps", "10", "--warmup_ratio", "0.1"}),
                 "--warmup_steps and --warmup_ratio say two different things"));
  const std::string secrets = mistakes({"--hub_token", "hf_one", "--push_to_hub_token", "hf_two"});
  CHECK(contains(secrets, "--hub_token and --push_to_hub_token say two different things"));
  CHECK_FALSE(contains(secrets, "hf_one"));
  CHECK(mistakes({"--warmup_steps", "0.1", "--warmup_ratio", "0.1"}).empty());
  CHECK(parse({"--per_device_train_batch_size", "2", "--per_gpu_train_batch_size", "4"})
            .arguments.batch.per_device_train_batch_size == 4);
  CHECK(contains(mistakes({"--accelerator_config", "{\"split_batches\": false}", "--split_batches", "true"}),
                 "say two different things"));
  CHECK(parse({"--lr_scheduler_type", "polynomial", "--poly_power", "2"})
            .arguments.schedule.lr_scheduler_kwargs == Json{{"power", 2.0}});
  CHECK(contains(mistakes({"--poly_power", "2"}), "unknown key 'power'"));
}

TEST_CASE("two old names that disagree are an error, and of one name given twice the last one counts") {
  CHECK(contains(
      mistakes({"--num_gpus", "2", "--num_processes", "3"}),
      "--num_gpus and --num_processes say two different things\n  where: --num_gpus and --num_processes "
      "(command line)\n  why: \"2\" against \"3\"\n  try: keep one of them"));
  CHECK(contains(mistakes({"--num_processes", "3", "--num_gpus", "2"}), "say two different things"));
  CHECK(contains(mistakes({"--num_gpus", "2", "--num_accelerators", "3"}), "say two different things"));
  CHECK(parse({"--num_gpus", "2", "--num_processes", "2"}).arguments.launch.nproc_per_node == "2");
  CHECK(parse({"--num_gpus", "2", "--num-gpus", "3"}).arguments.launch.nproc_per_node == "3");
  CHECK(parse({"--num_gpus", "-1", "--num_processes", "3"}).arguments.launch.nproc_per_node == "3");
  CHECK(
      parse({"--num_gpus", "2", "--num_processes", "4", "--num_gpus", "4"}).arguments.launch.nproc_per_node ==
      "4");
}

TEST_CASE("planned and refused flags are refused with the word, the reason and the way out") {
  CHECK(mistakes({"--use_ipex"}) ==
        "error: --use_ipex is not supported\n  where: command line\n"
        "  why: oneDNN is already used on the CPU\n  try: use --use_cpu --bf16");
  CHECK(mistakes({"--ddp_backend", "ccl"}) ==
        "error: --ddp_backend ccl is not supported\n  where: command line\n  why: not for this hardware\n"
        "  try: use nccl or gloo");
  CHECK(contains(mistakes({"--save_safetensors", "false"}), "only safetensors files are written"));
  CHECK(contains(mistakes({"--fp8_margin", "1"}), "--fp8_margin is not supported"));
  CHECK(contains(mistakes({"--accelerator_config", "{\"use_configured_state\": true}"}),
                 "key 'use_configured_state' is not supported"));
}

TEST_CASE("model_init_kwargs count where the flags of the model are not given") {
  const std::string given =
      R"({"torch_dtype": "bfloat16", "revision": "v2", "attn_implementation": "eager"})";
  const ParseOutcome alone = parse({"--model_init_kwargs", given});
  CHECK(alone.arguments.model.dtype == "bfloat16");
  CHECK(alone.arguments.model.model_revision == "v2");
  const ParseOutcome both =
      parse({"--model_init_kwargs", given, "--dtype", "float32", "--model_revision", "main"});
  CHECK(both.arguments.model.dtype == "float32");
  CHECK(both.arguments.model.model_revision == "main");
  CHECK(contains(mistakes({"--model_init_kwargs", R"({"quantization_config": 1})"}), "quantization_config"));
  CHECK(contains(mistakes({"--model_init_kwargs", R"({"trust_remote_code": true})"}), "there is no Python"));
}

TEST_CASE("flags of what is not here say why, or whose they are") {
  for (const std::string flag :
       {"cuda_graphs=true", "use_dora", "lora_target_parameters=a", "load_in_8bit", "load_in_4bit",
        "bnb_4bit_quant_type=fp4", "use_bnb_nested_quant", "bnb_4bit_quant_storage=uint8"}) {
    INFO(flag);
    CHECK(contains(mistakes({"--" + flag}), "is not supported\n"));
    CHECK(contains(mistakes({"--" + flag}), "why: "));
  }
  for (const std::string flag : {"beta=0.1", "reward_weights=1", "reward_model_path=x", "use_vllm=true"}) {
    INFO(flag);
    CHECK(contains(mistakes({"--" + flag}), "it belongs to another trainer"));
  }
  for (const char* kernel : {"eager", "sdpa", "flash_attention_2", "flash_attention_3"})
    CHECK(contains(notes(parse({"--attn_implementation", kernel})), "the kernel is chosen by device"));
  CHECK(contains(mistakes({"--cuda_graphs", "true"}), "use auto"));
  for (const char* word : {"auto", "false"}) CHECK(mistakes({"--cuda_graphs", word}).empty());
}

TEST_CASE("threads of preparing data are one or more, and no more than a machine may have cores") {
  for (const std::string flag : {"preprocessing_num_workers", "dataset_num_proc"}) {
    for (const char* wrong : {"0", "-1", "4097", "4294967297"}) {
      INFO(flag << ' ' << wrong);
      CHECK(contains(mistakes({"--" + flag + '=' + wrong}), "1 <= x <= 4096"));
    }
    for (const char* fine : {"1", "4096"}) CHECK(mistakes({"--" + flag + '=' + fine}).empty());
  }
}

TEST_CASE("threads of a rank, and those that make its batches, are no more than a machine may have cores") {
  for (const auto& [flag, least] :
       {std::pair<std::string, int>{"dataloader_num_workers", 0}, {"num_cpu_threads_per_process", 1}}) {
    for (const std::string& wrong :
         {std::to_string(least - 1), std::string("4097"), std::string("1000000000")}) {
      INFO(flag << ' ' << wrong);
      CHECK(contains(mistakes({"--" + flag + '=' + wrong}), std::to_string(least) + " <= x <= 4096"));
    }
    for (const std::string& fine : {std::to_string(least), std::string("4096")})
      CHECK(mistakes({"--" + flag + '=' + fine}).empty());
  }
}

TEST_CASE("every flag may be given its default") {
  for (const Flag* flag : flag_table().flags()) {
    if (flag->command_line_only || flag->pattern) continue;
    const Json value = flag->default_value();
    if (value.is_null() || value == Json::array()) continue;
    INFO(flag->name);
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string errors = mistakes({option(*flag) + '=' + text});
    CHECK(errors == "");
  }
  CHECK(mistakes({"--nnodes", "1", "--tp_size", "1", "--report_to", "none"}).empty());
}

TEST_CASE("accepted flags are noticed once and change nothing") {
  const ParseOutcome outcome = parse({"--dataloader_persistent_workers", "--optim", "adamw_apex_fused"});
  CHECK(contains(notes(outcome),
                 "--dataloader_persistent_workers has no effect here\n  where: command line\n  why: there "
                 "are no loader processes, and the threads stay"));
  CHECK(contains(notes(outcome), "--optim adamw_apex_fused has no effect here"));
  CHECK(outcome.unread.at("dataloader_persistent_workers") == true);
}

TEST_CASE("torch_compile allows TensorFloat-32 as upstream does") {
  CHECK(parse({"--torch_compile"}).arguments.precision.tf32 == true);
  CHECK(parse({"--torch_compile_mode", "default"}).arguments.precision.tf32 == true);
  CHECK(parse({"--torch_compile", "--tf32", "false"}).arguments.precision.tf32 == false);
  CHECK_FALSE(parse({"--torch_compile", "--fp16"}).arguments.precision.tf32);
  CHECK_FALSE(parse({"--torch_compile", "false"}).arguments.precision.tf32);
}

TEST_CASE("torch_compile says that nothing is compiled") {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--torch_compile"},
                                             {"--torch_compile_backend", "inductor"},
                                             {"--torch_compile_mode", "default"}}) {
    const std::string said = notes(parse(flags));
    INFO(said);
    CHECK(contains(said, flags.front() + " has no effect here"));
    CHECK(contains(said, "nothing is compiled at run time, on CPUs and GPUs alike"));
  }
}

TEST_CASE("all, none and words of resuming") {
  CHECK(parse({"--report_to", "all"}).arguments.logging.report_to ==
        Words{"tensorboard", "wandb", "mlflow", "trackio", "csv", "jsonl", "prometheus"});
  CHECK(parse({"--resume_from_checkpoint"}).arguments.saving.resume_from_checkpoint == "true");
  CHECK(parse({"--resume_from_checkpoint", "True"}).arguments.saving.resume_from_checkpoint == "true");
  CHECK_FALSE(parse({"--resume_from_checkpoint", "false"}).arguments.saving.resume_from_checkpoint);
  CHECK(parse({"--resume_from_checkpoint", "out/checkpoint-5"}).arguments.saving.resume_from_checkpoint ==
        "out/checkpoint-5");
}

TEST_CASE("all mistakes are reported in one pass, and missing flags not beside unknown ones") {
  Words words = {"--model_typ", "gpt2", "--seed", "x", "--fp16", "--bf16", "--use_dora"};
  try {
    parse_arguments(words, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(error.render() ==
          "error: unknown flag --model_typ\n  where: command line\n"
          "  why: there is no flag of that name, and parts of names are not taken\n  try: did you mean "
          "--model_type?\n"
          "error: --seed: 'x' is not a whole number\n  where: command line\n"
          "  why: it takes int 0 <= x <= 4294967295\n  try: a whole number 0 <= x <= "
          "4294967295\n"
          "error: --use_dora is not supported\n  where: command line\n"
          "  why: adapters have no magnitudes here\n  try: use --use_peft without it\n"
          "error: fp16 and bf16 exclude each other\n  where: --fp16 (command line), --bf16 (command line)\n  "
          "why: fp16 is true, bf16 is true\n"
          "  try: keep one of them");
  }
}

TEST_CASE("what print_config writes is read back as the same arguments") {
  const testing::TemporaryDirectory folder;
  const ParseOutcome first =
      parse({"--run_name", "no", "--report_to", "csv", "--accelerator_config", "{\"split_batches\": true}",
             "--seed", "3", "--lr_scheduler_type", "cosine", "--lr_scheduler_kwargs",
             "{\"num_cycles\": \"2\"}", "--eval_strategy", "epoch", "--tf32", "false"});
  for (const char* mode : {"full", "minimal", "origins"}) {
    INFO(mode);
    const std::string path = write(folder / "back.yaml", print_config(first, mode));
    const ParseOutcome second = parse_arguments(Words{"--config", path}, {});
    CHECK(arguments_json(second) == arguments_json(first));
  }
  const std::string path =
      write(folder / "run.yaml",
            arguments_yaml(first, Words{"hftrain", "--run_name", "it's"}, {{"version", "0.1"}}));
  CHECK(arguments_json(parse_arguments(Words{"--config", path}, {})) == arguments_json(first));
}

TEST_CASE("print_config needs no runnable configuration") {
  const ParseOutcome outcome =
      parse_arguments(Words{"--print_config", "minimal", "--fp16", "--bf16", "--ddp_backend", "mpi", "--fsdp",
                            "--hub_token", "secret"},
                      {});
  CHECK(outcome.actions.print_config == "minimal");
  CHECK(print_config(outcome, "minimal") ==
        "fp16: true\nbf16: true\nddp_backend: mpi\nfsdp: true\nhub_token: \"<HUB_TOKEN>\"\n");
  CHECK(contains(notes(outcome), "fp16 and bf16 exclude each other"));
  // Today's default, which the release of hf_compat had not.
  CHECK(contains(print_config(parse_arguments(Words{"--print_config", "minimal", "--hf_compat", "4.57.1",
                                                    "--report_to", "none"},
                                              {}),
                              "minimal"),
                 "report_to: "));
  CHECK(arguments_json(outcome)["hub_token"] == "<HUB_TOKEN>");
  CHECK_REFUSED(parse_arguments(Words{"--print_config", "--typo"}, {}), "unknown flag --typo");
  CHECK(parse({"--print_config"}).actions.print_config == "full");
}

TEST_CASE("arguments.yaml of a run shows command line, facts and origins") {
  const std::string text =
      arguments_yaml(parse({"--seed", "3"}), Words{"hftrain", "--run_name", "a b"}, {{"version", "0.1"}});
  CHECK(text.rfind("# command line: hftrain --run_name 'a b'\n# version: 0.1\n\n# Output\n", 0) == 0);
  CHECK(contains(text, "seed: 3                                         # --seed\n"));
  CHECK(contains(text, "learning_rate: 5.0e-05                          # default\n"));
}

TEST_CASE("a second plug-in does not take the place of the first") {
  const auto said = mistakes({"--plugin", "/lib/a.so", "--plugin", "/lib/b.so"});
  CHECK(contains(said, "say two different things"));
  CHECK(contains(said, "/lib/a.so against /lib/b.so"));
  CHECK(parse({"--plugin", "/lib/a.so", "--plugin", "/lib/a.so"}).arguments.interface.plugin == "/lib/a.so");
}

TEST_CASE("a program that is started by itself does not take the place of another one") {
  const auto said = mistakes({"--worker_program", "other", "--worker_program", "/bin/mine"});
  CHECK(contains(said, "say two different things"));
  CHECK(contains(said, "other against /bin/mine"));
}

TEST_CASE("a plug-in of a file that another one replaces is told, with both places") {
  const testing::TemporaryDirectory folder;
  const std::string first = write(folder / "first.yaml", "plugin: /lib/a.so\n");
  const std::string second = write(folder / "second.yaml", "plugin: /lib/b.so\n");
  const auto told = [](const std::vector<std::string>& words) { return notes(parse(words)); };
  const std::string of_line = told({"--config", first, "--plugin", "/lib/b.so"});
  CHECK(contains(of_line, "plugin /lib/a.so has no effect\n  where: " + first + ":1:9\n"));
  CHECK(contains(of_line, "a run has one, and /lib/b.so wins (command line)"));
  CHECK(contains(told({"--config", first, "--config", second}), "and /lib/b.so wins (" + second + ":1:9)"));
  CHECK_FALSE(contains(told({"--config", first, "--plugin", "/lib/a.so"}), "has no effect"));
  CHECK_FALSE(contains(told({"--config", first}), "has no effect"));
}

TEST_CASE("beside a plug-in, which may describe a task, every name of a task is taken") {
  CHECK(contains(mistakes({"--task", "poetry"}), "--task: 'poetry' is not one of clm, sft"));
  CHECK(contains(mistakes({"--task", "poetry"}), "translation, or with --plugin a word that its file adds"));
  CHECK(contains(mistakes({"--task", "text-clasification"}), "did you mean text-classification?"));
  CHECK(parse({"--task", "poetry", "--plugin", "/lib/mine.so"}).arguments.run.task == "poetry");
  CHECK(parse({"--plugin", "/lib/mine.so", "--task", "clm"}).arguments.run.task == "clm");
  CHECK(contains(mistakes({"--optim", "poetry", "--plugin", "/lib/mine.so"}), "'poetry' is not one of"));
}

}  // namespace hftrain::arguments
