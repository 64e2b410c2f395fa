#include "hftrain/arguments/config_file.h"

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"
#include "hftrain/arguments/value.h"
#include "support.h"
#include "support/catch.h"
#include "support/temporary_directory.h"

namespace hftrain::arguments {
namespace {

// A file whose text is written by the test; its name in messages is `name`.
struct WrittenFile {
  testing::TemporaryDirectory folder;
  std::string path;
  explicit WrittenFile(const std::string& text, const std::string& name = "run.yaml")
      : path(write(folder / name, text)) {}
  std::string at(const std::string& position) const { return path + ':' + position; }
};

}  // namespace

TEST_CASE("numbers of YAML may have an underscore between digits, and those of JSON none") {
  const WrittenFile file(
      "max_steps: 1_000\nsave_steps: 20_000\nrun_name: 2_0\n"
      "accelerator_config: {gradient_accumulation_kwargs: {num_steps: 1_0}}\n");
  const Arguments arguments = parse({"--config", file.path}).arguments;
  CHECK(arguments.run.max_steps == 1000);
  CHECK(arguments.saving.save_steps == 20000);
  CHECK(arguments.logging.run_name == "2_0");
  CHECK(arguments.batch.gradient_accumulation_steps == 10);
  const WrittenFile json(R"({"max_steps": "1_000"})", "run.json");
  CHECK(contains(mistakes({"--config", json.path}), "'1_000' is not a whole number"));
}

TEST_CASE("numbers of mappings in YAML may have an underscore between digits, too") {
  const WrittenFile file(
      "lr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr: 0.000_001}\n"
      "deepspeed: {zero_optimization: {stage: 3, stage3_param_persistence_threshold: 500_000},\n"
      "            gradient_accumulation_steps: 1_0}\n");
  const Arguments arguments = parse({"--config", file.path}).arguments;
  CHECK((*arguments.schedule.lr_scheduler_kwargs)["min_lr"] == 1e-6);
  CHECK(arguments.batch.gradient_accumulation_steps == 10);
  CHECK(*arguments.parallel.sharding.full_parameter_limit == 500'000);
  const WrittenFile config("zero_optimization: {stage: 3, stage3_param_persistence_threshold: 500_000}\n",
                           "ds.yaml");
  CHECK(*sharding({"--deepspeed", config.path}).full_parameter_limit == 500'000);
  const WrittenFile quoted(
      "deepspeed: {zero_optimization: {stage: 2}, gradient_accumulation_steps: '1_0'}\n");
  CHECK(contains(mistakes({"--config", quoted.path}), "'1_0' is not a whole number"));
}

TEST_CASE("on, off and words for no count without quotes in YAML alone") {
  const WrittenFile file(
      "bf16: on\nddp_find_unused_parameters: Off\neval_strategy: NO\nsave_strategy: false\n"
      "include_num_input_tokens_seen: ON\nfsdp: off\nrun_name: off\n"
      "accelerator_config: {split_batches: on}\nmixed_precision: No\n");
  const ParseOutcome outcome = parse({"--config", file.path});
  CHECK(outcome.arguments.precision.bf16);
  CHECK(outcome.arguments.parallel.ddp_find_unused_parameters == false);
  CHECK(outcome.arguments.evaluation.eval_strategy == "no");
  CHECK(outcome.arguments.saving.save_strategy == "no");
  CHECK(outcome.arguments.logging.include_num_input_tokens_seen == "all");
  CHECK(outcome.arguments.logging.run_name == "off");
  CHECK(outcome.arguments.parallel.accelerator_config->split_batches);
  CHECK(outcome.unread.at("mixed_precision") == "no");
  for (const char* text :
       {"bf16: 'on'", "bf16: oN", "eval_strategy: 'NO'", "save_strategy: \"false\"", "eval_strategy: n",
        "accelerator_config: {split_batches: 'on'}", "eval_strategy: yes"}) {
    INFO(text);
    CHECK_FALSE(mistakes({"--config", WrittenFile(std::string(text) + '\n').path}).empty());
  }
  for (const char* text :
       {R"({"bf16": "on"})", R"({"eval_strategy": "false"})", R"({"eval_strategy": true})"}) {
    INFO(text);
    CHECK_FALSE(mistakes({"--config", WrittenFile(text, "run.json").path}).empty());
  }
  CHECK(contains(mistakes({"--bf16", "on"}), "try: true, yes, t, y, 1 or false, no, f, n, 0"));
  CHECK(contains(mistakes({"--save_strategy", "No"}), "'No' is not one of no, steps"));
}

TEST_CASE("false in JSON is the no of a flag that has one, as it is behind a reader of YAML") {
  const WrittenFile file(
      R"({"eval_strategy": false, "save_strategy": false, "mixed_precision": false, "run_name": false})",
      "run.json");
  const ParseOutcome outcome = parse({"--config", file.path});
  CHECK(outcome.arguments.evaluation.eval_strategy == "no");
  CHECK(outcome.arguments.saving.save_strategy == "no");
  CHECK(outcome.unread.at("mixed_precision") == "no");
  CHECK(outcome.arguments.logging.run_name == "false");
}

TEST_CASE("what is off in a list of YAML is off, and stands alone") {
  const auto outcome = [](const std::string& text) {
    return parse({"--config", WrittenFile(text + '\n').path});
  };
  for (const char* off : {"off", "[off]", "[No]", "[false]", "no"}) {
    INFO(off);
    const ParseOutcome read = outcome("fsdp: " + std::string(off) + "\nreport_to: " + off);
    CHECK(read.unread.at("fsdp") == Json({"false"}));
    CHECK_FALSE(read.arguments.parallel.sharding.strategy);
    CHECK(read.arguments.logging.report_to.empty());
  }
  CHECK(outcome("label_names: [off, 0x10]").arguments.data.label_names ==
        std::vector<std::string>{"off", "0x10"});
  const auto refused = [](const std::string& text) {
    return mistakes({"--config", WrittenFile(text + '\n').path});
  };
  CHECK(contains(refused("fsdp: [off, auto_wrap]"), "'false' stands alone"));
  CHECK(contains(refused("report_to: [off, csv]"), "'none' stands alone"));
  CHECK_FALSE(refused("report_to: ['off']").empty());
}

TEST_CASE("words and numbers of YAML 1.1 mean in mappings what they do there, and so do tags") {
  const auto strategy = [](const std::string& text, const char* name = "run.yaml") {
    const WrittenFile file(text + '\n', name);
    const bool run = file.path.ends_with("run.yaml");
    return parse({run ? "--config" : "--deepspeed", file.path})
        .arguments.parallel.sharding.strategy.value_or("");
  };
  CHECK(
      strategy(
          "deepspeed: {zero_optimization: {stage: 0x2, overlap_comm: Yes}, hybrid_engine: {enabled: No}}") ==
      "shard_grad_op");
  CHECK(strategy("deepspeed: {zero_optimization: {stage: 0b1_1}, autotuning: {enabled: !!bool \"NO\"}}") ==
        "full_shard");
  CHECK(strategy("deepspeed: {zero_optimization: {stage: !!int \"0x3\", round_robin_gradients: !!null x}}") ==
        "full_shard");
  CHECK(strategy("zero_optimization: Yes", "ds.yaml") == "zero1");
  CHECK(
      parse({"--config", WrittenFile("max_steps: 0x1F\nseed: !!int \"7\"\n").path}).arguments.run.max_steps ==
      31);
  const auto refused = [](const std::string& text) {
    return mistakes({"--config", WrittenFile(text + '\n').path});
  };
  CHECK(contains(refused("deepspeed: {zero_optimization: {stage: '0x2'}}"), "'0x2' is not a whole number"));
  CHECK(contains(refused("deepspeed: {zero_optimization: {stage: !level 2}}"),
                 "the tag !level is not read here"));
  CHECK(contains(refused("fsdp: !level [full_shard]"), "the tag !level is not read here"));
  CHECK(contains(refused("fsdp_config: !mine {limit_all_gathers: true}"), "the tag !mine is not read here"));
  CHECK(contains(refused("max_steps: 0xg"), "'0xg' is not a whole number"));
}

TEST_CASE("a mapping that import/ reads is printed with numbers and truth values as they stood") {
  const WrittenFile file(
      "deepspeed: {gradient_clipping: 1.0, zero_optimization: {overlap_comm: False, stage: 2, "
      "reduce_bucket_size: '5'}}\n");
  CHECK(contains(print_config(parse({"--config", file.path}), "minimal"),
                 "deepspeed: {gradient_clipping: 1.0, zero_optimization: {overlap_comm: false, "
                 "reduce_bucket_size: \"5\", stage: 2}}\n"));
  const WrittenFile fsdp(
      "fsdp: true\nfsdp_config: {version: 2, reshard_after_forward: false, min_num_params: 1e3}\n");
  const ParseOutcome outcome = parse({"--config", fsdp.path});
  const std::string printed = print_config(outcome, "minimal");
  CHECK(contains(printed, "fsdp: true\n"));
  CHECK(
      contains(printed, "fsdp_config: {min_num_params: 1000.0, reshard_after_forward: false, version: 2}\n"));
  const WrittenFile again(printed, "again.yaml");
  const ParseOutcome second = parse_arguments(Words{"--config", again.path}, {});
  CHECK(print_config(second, "minimal") == printed);
  CHECK(arguments_json(second) == arguments_json(outcome));
  const WrittenFile secret("deepspeed: {zero_optimization: {stage: 2}, wandb: {api_key: 123456}}\n");
  const std::string masked = print_config(parse({"--config", secret.path, "--print_config"}), "minimal");
  CHECK(contains(masked, "<API_KEY>"));
  CHECK_FALSE(contains(masked, "123456"));
  const WrittenFile json(R"({"fsdp": true, "fsdp_config": {"min_num_params": 7, "xla": false}})", "run.json");
  CHECK(contains(print_config(parse({"--config", json.path}), "minimal"),
                 "fsdp_config: {min_num_params: 7, xla: false}\n"));
}

TEST_CASE("a flat file with the traps of YAML 1.1 gives the values that were meant") {
  const WrittenFile file(R"(model_type: gpt2
config_overrides: n_layer=2,n_head=2
train_file: train.txt
output_dir: runs/flat
num_train_epochs: 1
learning_rate: 3e-4
lr_scheduler_type: cosine_with_min_lr
lr_scheduler_kwargs: {min_lr_rate: 0.1}
warmup_steps: 0.05
bf16: true
gradient_checkpointing: no
logging_steps: 0.01
evaluation_strategy: steps
eval_steps: 100
save_steps: 200
load_best_model_at_end: yes
metric_for_best_model: null
report_to: [tensorboard]
data_seed: 7
)");
  const ParseOutcome outcome = parse_arguments(Words{"--config", file.path}, {});
  const Arguments& a = outcome.arguments;
  CHECK(a.optimizer.learning_rate == 3e-4);
  CHECK(a.run.num_train_epochs == 1.0);
  CHECK_FALSE(a.precision.gradient_checkpointing);
  CHECK(a.logging.logging_steps == 0.01);
  CHECK(a.evaluation.eval_strategy == "steps");
  CHECK(a.run.do_eval);
  CHECK(a.evaluation.eval_steps == 100);
  CHECK(a.saving.load_best_model_at_end == true);
  CHECK(a.saving.metric_for_best_model == "loss");
  CHECK(a.saving.greater_is_better == false);
  CHECK(a.schedule.lr_scheduler_kwargs == Json{{"min_lr_rate", 0.1}});
  CHECK(a.schedule.warmup_steps == 0.05);
  CHECK(a.logging.report_to == Words{"tensorboard"});
  CHECK(a.data.data_seed == 7);
  CHECK(outcome.origins.of("learning_rate") == file.at("6:16"));
  CHECK(contains(notes(outcome), "evaluation_strategy is an old name"));
}

TEST_CASE("groups, env and comment keys") {
  const WrittenFile file(
      "model:\n  model_type: gpt2\ndata:\n  train_file: [a.txt, b.txt]\nenv:\n  OMP_NUM_THREADS: 2\n_note: "
      "x\n");
  const ParseOutcome outcome = parse_arguments(Words{"--config", file.path}, {});
  CHECK(outcome.arguments.model.model_type == "gpt2");
  CHECK(outcome.arguments.data.train_file == Words{"a.txt", "b.txt"});
  CHECK(outcome.exported_environment == std::map<std::string, std::string>{{"OMP_NUM_THREADS", "2"}});
}

TEST_CASE("secrets of env and of flags are masked in every printed form, and reading one back sets none") {
  const WrittenFile file(
      "env:\n  HF_TOKEN: hf_abc\n  WANDB_API_KEY: abc123\n  MLFLOW_TRACKING_URI: https://me:hunter2@host\n"
      "  WANDB_PROJECT: p\nhub_token: hf_flag\n");
  const Words line = {"--print_config", "--config",          file.path, "--push_to_hub_token",
                      "hf_word",        "--token=hf_joined", "--seed",  "3"};
  const ParseOutcome outcome = parse_arguments(line, {});
  CHECK(outcome.exported_environment.at("HF_TOKEN") == "hf_abc");
  const std::string yaml = arguments_yaml(outcome, line);
  for (const std::string& text : {yaml, print_config(outcome, "full"), print_config(outcome, "minimal"),
                                  print_config(outcome, "origins"), arguments_json(outcome).dump()}) {
    INFO(text);
    for (const char* secret : {"hf_abc", "abc123", "hunter2", "hf_flag", "hf_word", "hf_joined"})
      CHECK_FALSE(contains(text, secret));
  }
  CHECK(contains(yaml, "--push_to_hub_token '<PUSH_TO_HUB_TOKEN>' '--token=<TOKEN>' --seed 3"));
  CHECK(contains(yaml, "HF_TOKEN: \"<HF_TOKEN>\""));
  const WrittenFile again(yaml, "again.yaml");
  CHECK(parse_arguments(Words{"--print_config", "--config", again.path}, {}).exported_environment ==
        std::map<std::string, std::string>{{"WANDB_PROJECT", "p"}});
}

TEST_CASE(
    "tokens that a JSON file hides are told of, unless they are given or are no business of anybody's") {
  const WrittenFile file(R"({"seed": 3, "eos_token": "<EOS_TOKEN>", "pad_token": "<PAD_TOKEN>",
  "hub_token": "<HUB_TOKEN>"})",
                         "sft.json");
  const ParseOutcome outcome =
      parse_arguments(Words{"--print_config", "--config", file.path, "--pad_token", "<unk>"}, {});
  CHECK_FALSE(outcome.arguments.instructions.eos_token);
  CHECK(outcome.arguments.instructions.pad_token == "<unk>");
  CHECK(contains(notes(outcome), "the value of eos_token is not known"));
  CHECK_FALSE(contains(notes(outcome), "pad_token"));
  CHECK_FALSE(contains(notes(outcome), "hub_token"));
  const WrittenFile later("eos_token: </s>\n", "later.yaml");
  CHECK_FALSE(contains(
      notes(parse_arguments(Words{"--print_config", "--config", file.path, "--config", later.path}, {})),
      "the value of eos_token"));
}

TEST_CASE("keys of trackers in an inline configuration are masked, and what is printed is the same run") {
  const std::string inside =
      R"({"zero_optimization": {"stage": 2}, "comet": {"enabled": false, "api_key": "SEKRET123"}})";
  for (const Words& line :
       {Words{"--print_config", "--deepspeed", inside}, Words{"--print_config", "--deepspeed=" + inside}}) {
    const ParseOutcome outcome = parse_arguments(line, {});
    const std::string yaml = arguments_yaml(outcome, line);
    for (const std::string& text : {yaml, print_config(outcome, "full"), print_config(outcome, "minimal"),
                                    arguments_json(outcome).dump(), shown_words(line).back()}) {
      INFO(text);
      CHECK_FALSE(contains(text, "SEKRET123"));
      CHECK(contains(text, "<API_KEY>"));
    }
    const WrittenFile again(yaml, "again.yaml");
    const ParseOutcome back = parse_arguments(Words{"--print_config", "--config", again.path}, {});
    CHECK(arguments_json(back) == arguments_json(outcome));
  }
  const Words plain = {"--print_config", "--lr_scheduler_kwargs", R"({"num_cycles": 2})", "--run_name", "{x"};
  CHECK(shown_words(plain) == plain);
}

TEST_CASE("JSON files are configurations too, with comments and tabs") {
  const WrittenFile file(
      "{\n\t// sizes\n\t\"seed\": 5, /* and\n more */ \"fp16\": false,\n\t\"run_name\": \"a // b\"\n}\n",
      "run.json");
  const ParseOutcome outcome = parse({"--config", file.path});
  CHECK(outcome.arguments.run.seed == 5);
  CHECK(outcome.arguments.logging.run_name == "a // b");
  CHECK(outcome.origins.of("seed") == file.at("3:10"));
}

TEST_CASE("later files win over earlier ones and the command line over all") {
  const WrittenFile first("seed: 1\nmax_steps: 1\nsave_steps: 1\n"),
      second("max_steps: 2\nsave_steps: 2\n", "second.yaml");
  const ParseOutcome outcome = parse({"--save_steps", "3", "--config", first.path, second.path});
  CHECK(outcome.arguments.run.seed == 1);
  CHECK(outcome.arguments.run.max_steps == 2);
  CHECK(outcome.arguments.saving.save_steps == 3);
  CHECK(outcome.origins.of("max_steps") == second.at("1:12"));
}

TEST_CASE("the command line wins over an old name in a file") {
  const WrittenFile file("evaluation_strategy: steps\nper_gpu_train_batch_size: 4\n");
  const Arguments a =
      parse({"--config", file.path, "--eval_strategy", "no", "--per_device_train_batch_size", "2"}).arguments;
  CHECK(a.evaluation.eval_strategy == "no");
  CHECK(a.batch.per_device_train_batch_size == 2);
}

TEST_CASE("unknown keys, wrong types and duplicates are all reported with their places") {
  const WrittenFile file(
      "lerning_rate: 1\nseed: x\nmodel:\n  seed: 3\nlr_scheduler_type: cosine\nlr_scheduler_kwargs:\n  "
      "num_cycle: 2\n");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "unknown key 'lerning_rate'\n  where: " + file.at("1:1") +
                           "\n  why: there is no flag of that name\n  try: did you mean learning_rate?"));
  CHECK(contains(text, "seed: 'x' is not a whole number\n  where: " + file.at("2:7")));
  CHECK(contains(
      text, "'seed' is given twice\n  where: " + file.at("4:3") + "\n  why: first at " + file.at("2:1")));
  CHECK(contains(text, "unknown key 'num_cycle'"));
}

TEST_CASE("env of a file has no names that no variable can have") {
  const WrittenFile file("env:\n  \"\": x\n  \"B=C\": 1\n  D: 2\n");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "env: '' is no name of a variable\n  where: " + file.at("2:3")));
  CHECK(contains(text, "env: 'B=C' is no name of a variable\n  where: " + file.at("3:3")));
}

TEST_CASE("a file of DeepSpeed in the place of flags is one mistake, which names its flag") {
  const WrittenFile file(
      R"({"fp16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "train_batch_size": "auto"})",
      "ds.json");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "is a configuration of DeepSpeed\n  where: " + file.at("1:")));
  CHECK(contains(text, "--deepspeed " + file.path));
  CHECK(text.find("error: ") == text.rfind("error: "));
  CHECK(
      contains(mistakes({"--config", write(file.folder / "run.yaml", "train_micro_batch_size_per_gpu: 4\n")}),
               "is a configuration of DeepSpeed"));
  // Among flags it is a key by another name.
  CHECK(contains(mistakes({"--config", write(file.folder / "run.yaml",
                                             "model_type: gpt2\ntrain_micro_batch_size_per_gpu: 4\n")}),
                 "did you mean per_device_train_batch_size"));
}

TEST_CASE("a key that is no text is told with what it is") {
  const testing::TemporaryDirectory folder;
  for (const auto& [key, is] :
       {std::pair("[1, 2]", "this is a list"), {"{a: 1}", "this is a mapping"}, {"~", "it is empty"}})
    CHECK(contains(mistakes({"--config", write(folder / "run.yaml", "? " + std::string(key) + "\n: 3\n")}),
                   "a key that is not text\n  where: " + folder / "run.yaml" + ":1:3\n  why: " + is));
}

TEST_CASE("a group of flags with a slip in its name is named") {
  const WrittenFile file("lauch:\n  nproc_per_node: 2\nlerning_rate:\n  x: 1\n");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "unknown key 'lauch'\n  where: " + file.at("1:1") +
                           "\n  why: there is neither a flag nor a group of flags of that name\n  try: did "
                           "you mean launch?"));
  CHECK(contains(text, "did you mean learning_rate?"));
}

TEST_CASE("of many unknown keys all are reported, and the first have a hint") {
  std::string keys;
  for (int i = 0; i < 300; ++i)
    keys += "lerning_rate" + std::string(1 + i / 26, '_') + char('a' + i % 26) + ": 1\n";
  const WrittenFile file(keys);
  const std::string text = mistakes({"--config", file.path});
  const std::string hint = "there is no flag of that name\n  try: ";
  size_t unknown = 0, hints = 0;
  for (size_t at = text.find("unknown key"); at != text.npos; at = text.find("unknown key", at + 1))
    ++unknown;
  for (size_t at = text.find(hint); at != text.npos; at = text.find(hint, at + 1)) ++hints;
  CHECK(unknown == 300);
  CHECK(hints == 50);
}

TEST_CASE("a key given twice inside a mapping is refused with both places") {
  const WrittenFile file("accelerator_config: {split_batches: true, split_batches: false}\n");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "key 'split_batches' is given twice"));
  CHECK(contains(text, "first at " + file.at("1:22")));
}

TEST_CASE("an unknown key inside a mapping is reported at its own place") {
  const WrittenFile file("accelerator_config:\n  split_batches: true\n  even_batch: true\n");
  CHECK(contains(mistakes({"--config", file.path}), "unknown key 'even_batch'\n  where: " + file.at("3:15")));
}

TEST_CASE("a wrong key in a file that stands for a mapping is reported at its own place") {
  const WrittenFile mapping("{\"split_batches\": true,\n \"even_batch\": true}\n");
  CHECK(contains(mistakes({"--accelerator_config", mapping.path}),
                 "unknown key 'even_batch'\n  where: " + mapping.at("2:16")));
  const WrittenFile file("accelerator_config: " + mapping.path + '\n');
  CHECK(contains(mistakes({"--config", file.path}),
                 "unknown key 'even_batch'\n  where: " + mapping.at("2:16")));
  const WrittenFile refused("{\"use_configured_state\": true}\n"),
      twice("{\"even_batches\": true, \"even_batches\": false}\n");
  CHECK(contains(mistakes({"--accelerator_config", refused.path}),
                 "is not supported\n  where: " + refused.at("1:26")));
  CHECK(contains(mistakes({"--accelerator_config", twice.path}),
                 "key 'even_batches' is given twice in " + twice.path));
}

TEST_CASE("files that are no configuration at all") {
  CHECK(contains(mistakes({"--config", "/nonexistent/run.yaml"}), "/nonexistent/run.yaml"));
  const WrittenFile broken("seed: [1\nmax_steps: 2\n"), list("- seed\n"), two("seed: 1\n---\nseed: 2\n"),
      empty("");
  CHECK(contains(mistakes({"--config", broken.path}), "not valid YAML\n  where: " + broken.path));
  CHECK(contains(mistakes({"--config", list.path}), "a configuration file is a mapping"));
  CHECK(contains(mistakes({"--config", two.path}), "more than one YAML document"));
  CHECK(mistakes({"--config", empty.path}).empty());
  const WrittenFile loop("label_names: &a [*a]\n"), merge("<<: {seed: 1}\n");
  CHECK(contains(mistakes({"--config", loop.path}), loop.path));
  CHECK(contains(mistakes({"--config", merge.path}), "merge keys are not supported"));
}

TEST_CASE("what cannot begin or follow a document is refused, and not read for ever") {
  const WrittenFile comma(", seed: 1\n"), bracket("seed: 1\n}\n"), json("{\"seed\": 1}, {}", "run.json");
  CHECK(contains(mistakes({"--config", comma.path}), "not valid YAML\n  where: " + comma.at("1:1")));
  CHECK(contains(mistakes({"--config", bracket.path}), "not valid YAML\n  where: " + bracket.at("2:1")));
  CHECK(contains(mistakes({"--config", json.path}), "not valid JSON\n  where: " + json.at("1:12")));
}

TEST_CASE("characters beyond U+FFFF are read as Python writes them into JSON") {
  const std::string rocket = "\xF0\x9F\x9A\x80";
  const WrittenFile file(R"({"run_name": "exp \ud83d\ude80 \\ud83d \u00e9", "sed": 1})", "run.json");
  CHECK(contains(mistakes({"--config", file.path}), "unknown key 'sed'\n  where: " + file.at("1:49")));
  const WrittenFile good(R"({"run_name": "exp \uD83D\ude80\ud83d\uDE80 \\ud83d \u00e9", "seed": 1})",
                         "run.json");
  const Arguments arguments = parse({"--config", good.path}).arguments;
  CHECK(arguments.logging.run_name == "exp " + rocket + rocket + " \\ud83d \xC3\xA9");
  CHECK(arguments.run.seed == 1);
  for (const std::string half : {R"(\ud83d)", R"(\ude80)", R"(\ud83d\ud83d)", R"(\ud83d\\ude80)"}) {
    INFO(half);
    const WrittenFile bad("{\"seed\": 1,\n \"run_name\": \"exp " + half + "\"}", "run.json");
    CHECK(
        contains(mistakes({"--config", bad.path}),
                 "not valid JSON\n  where: " + bad.at("2:19") +
                     "\n  why: the escape there is half of a character, and the other half does not follow"));
  }
}

TEST_CASE("flags of the command line only cannot stand in a file") {
  const WrittenFile file("dry_run: true\nno_skip_memory_metrics: true\n");
  const std::string text = mistakes({"--config", file.path});
  CHECK(contains(text, "'dry_run' cannot stand in a configuration file"));
  CHECK(contains(text, "'no_skip_memory_metrics' is a flag of the command line only"));
}

namespace {

// A value that differs from the default and that the flag takes, as text.
std::string another_value(const Flag& flag) {
  if (flag.is_choice()) {
    for (const Choice& choice : flag.choices) {
      const bool works = choice.support.status == Support::kImplemented;
      if (works && Json(std::string(choice.word)) != flag.default_value() && choice.word != "none")
        return std::string(choice.word);
    }
  }
  switch (flag.slot.type) {
    case Type::kBool:
      return flag.default_value() == true ? "false" : "true";
    case Type::kInt:
      return "3";
    case Type::kFloat:
      return "0.25";
    case Type::kMapping:
      return "{}";
    case Type::kText:
      for (const char* number : {"nproc_per_node", "nnodes", "tee", "redirects", "log_ranks"}) {
        if (flag.name == number) return "2";
      }
      return flag.name == "hf_compat" ? "4.49.0" : "some/text";
    case Type::kList:
      return "one.txt";
  }
  return "";
}

}  // namespace

TEST_CASE("every implemented flag is set the same by a flag and by a file") {
  for (const Flag* flag : flag_table().flags()) {
    if (flag->slot.get == nullptr) continue;
    INFO(flag->name);
    const std::string text = another_value(*flag);
    const WrittenFile file(std::string(flag->name) + ": " + text + '\n');
    const ParseOutcome from_flag = parse_arguments(Words{"--print_config", option(*flag) + '=' + text}, {});
    const ParseOutcome from_file = parse_arguments(Words{"--print_config", "--config", file.path}, {});
    CHECK(flag->slot.get(from_flag.arguments) == flag->slot.get(from_file.arguments));
    if (flag->name != "do_eval") CHECK(flag->slot.get(from_flag.arguments) != flag->default_value());
    CHECK(from_file.origins.is_given(std::string(flag->name)));
  }
}

TEST_CASE("bytes that are no text are refused with their place, wherever they come from") {
  const WrittenFile file("seed: 3\noutput_dir: caf\xe9 \n");  // Latin-1
  const std::string of_file = mistakes({"--config", file.path});
  CHECK(of_file.find("not UTF-8 text") != std::string::npos);
  CHECK(of_file.find(file.path + ":2:16") != std::string::npos);
  CHECK(of_file.find("\\xe9") != std::string::npos);
  const WrittenFile mapping("? output_dir\n: {a: \"\xbd\"}\n");
  CHECK(mistakes({"--config", mapping.path}).find("not UTF-8 text") != std::string::npos);
  CHECK(mistakes({"--run_name", "caf\xe9"}).find("'caf\\xe9' is not UTF-8 text") != std::string::npos);
  const WrittenFile escape(
      "? output_dir\n: {a: \"\\_\"}\nenv: {A: \"\\_\"}\n");  // its reader makes a byte of \_
  const std::string of_escape = mistakes({"--config", escape.path});
  CHECK(of_escape.find(escape.path + ":2:7") != std::string::npos);
  CHECK(of_escape.find(escape.path + ":3:10") != std::string::npos);
  const Environment environment(std::map<std::string, std::string>{{"TENSORBOARD_LOGGING_DIR", "caf\xe9"}});
  CHECK(mistakes({}, environment).find("its text is not UTF-8") != std::string::npos);
}

TEST_CASE("a configuration file may be UTF-16, as some shells write it") {
  const std::string narrow = "seed: 7\n";
  std::string wide = "\xFF\xFE";
  for (const char c : narrow) wide += c, wide += '\0';
  const WrittenFile file(wide);
  CHECK(parse({"--config", file.path}).arguments.run.seed == 7);
}

}  // namespace hftrain::arguments
