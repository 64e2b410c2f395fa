#include "hftrain/arguments/rules.h"

#include <set>

#include "hftrain/arguments/derive.h"
#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/print_config.h"
#include "support.h"
#include "support/catch.h"
#include "support/refusal.h"

namespace hftrain::arguments {
namespace {

struct Case {
  const char* rule;
  Words broken;
  Words fixed;
  const char* says;
};

const Words kEvaluated = {"--eval_strategy", "steps", "--eval_steps", "10"};

const std::vector<Case>& errors() {
  static const std::vector<Case> cases = {
      {"8",
       {"--eval_strategy", "steps", "--logging_steps", "0", "--logging_strategy", "no"},
       {"--eval_strategy", "steps", "--eval_steps", "0"},
       "eval_strategy steps needs an interval"},
      {"9",
       {"--logging_steps", "0"},
       {"--logging_steps", "0", "--logging_strategy", "epoch"},
       "needs logging_steps above 0, not 0.0"},
      {"10", {"--logging_steps", "2.5"}, {"--logging_steps", "0.5"}, "logging_steps 2.5 is neither"},
      {"10", {"--eval_strategy", "steps", "--eval_steps", "2.5"}, kEvaluated, "eval_steps 2.5 is neither"},
      {"10",
       {"--save_steps", "2.5"},
       {"--save_steps", "2.5", "--save_strategy", "epoch"},
       "save_steps 2.5 is neither"},
      {"12",
       {"--load_best_model_at_end", "--eval_strategy", "epoch"},
       {"--load_best_model_at_end", "--eval_strategy", "epoch", "--save_strategy", "epoch"},
       "save_strategy is steps, eval_strategy is epoch"},
      {"13", also(kEvaluated, {"--load_best_model_at_end", "--save_steps", "15"}),
       also(kEvaluated, {"--load_best_model_at_end", "--save_steps", "20"}),
       "save_steps is 15.0, eval_steps is 10.0"},
      {"13",
       {"--eval_strategy", "steps", "--eval_steps", "0.1", "--load_best_model_at_end", "--save_steps", "10"},
       {"--eval_strategy", "steps", "--eval_steps", "0.1", "--load_best_model_at_end", "--save_steps", "0.3"},
       "multiple of eval_steps"},
      {"T2", also(kEvaluated, {"--save_strategy", "best"}),
       also(kEvaluated, {"--save_strategy", "best", "--metric_for_best_model", "loss"}),
       "save_strategy best needs metric_for_best_model"},
      {"H3",
       {"--early_stopping_patience", "2", "--metric_for_best_model", "loss"},
       also(kEvaluated, {"--early_stopping_patience", "2", "--metric_for_best_model", "loss"}),
       "early_stopping_patience needs evaluations"},
      {"H3", also(kEvaluated, {"--early_stopping_patience", "2", "--metric_for_best_model", ""}),
       also(kEvaluated, {"--early_stopping_patience", "2", "--metric_for_best_model", "loss"}),
       "early_stopping_patience needs metric_for_best_model"},
      {"H3", also(kEvaluated, {"--early_stopping_patience", "2"}),
       also(kEvaluated, {"--early_stopping_patience", "2", "--load_best_model_at_end", "--save_steps", "20"}),
       "early_stopping_patience needs metric_for_best_model"},
      {"F6",
       {"--fsdp", "true", "--gradient_checkpointing", "--fsdp_activation_checkpointing", "true"},
       {"--fsdp", "true", "--fsdp_activation_checkpointing", "true"},
       "gradient_checkpointing and activation_checkpointing exclude each other"},
      {"T8",
       {"--fsdp", "true", "--save_only_model", "--fsdp_state_dict_type", "SHARDED_STATE_DICT"},
       {"--fsdp", "true", "--save_only_model", "--fsdp_state_dict_type", "FULL_STATE_DICT"},
       "save_only_model and a state_dict_type in parts exclude each other"},
      {"18", {"--fp16", "--bf16"}, {"--bf16"}, "fp16 and bf16 exclude each other"},
      {"19", {"--fp16_full_eval", "--bf16_full_eval"}, {"--fp16_full_eval"}, "exclude each other"},
      {"21",
       {"--bf16", "--half_precision_backend", "apex"},
       {"--bf16", "--half_precision_backend", "amp"},
       "Apex knows float16 only"},
      {"22",
       {"--fp16_full_eval", "--use_cpu"},
       {"--bf16_full_eval", "--use_cpu"},
       "fp16_full_eval does not work on the CPU"},
      {"23", {"--fp16", "--use_cpu"}, {"--bf16", "--use_cpu"}, "fp16 does not work on the CPU"},
      {"24",
       {"--lr_scheduler_type", "reduce_lr_on_plateau"},
       also(kEvaluated, {"--lr_scheduler_type", "reduce_lr_on_plateau"}),
       "reduce_lr_on_plateau needs evaluations"},
      {"46",
       {"--lr_scheduler_type", "greedy"},
       also(kEvaluated, {"--lr_scheduler_type", "greedy"}),
       "greedy needs evaluations"},
      {"33",
       {"--dataloader_prefetch_factor", "2"},
       {"--dataloader_prefetch_factor", "2", "--dataloader_num_workers", "1"},
       "needs dataloader_num_workers above 0"},
      {"36",
       {"--gradient_accumulation_steps", "2", "--accelerator_config",
        "{\"gradient_accumulation_kwargs\": {\"num_steps\": 4}}"},
       {"--accelerator_config", "{\"gradient_accumulation_kwargs\": {\"num_steps\": 4}}"},
       "accumulation steps are given twice"},
      {"58", {"--max_steps", "0"}, {"--max_steps", "1"}, "max_steps 0 trains nothing"},
      {"T3", {"--streaming"}, {"--streaming", "--max_steps", "1"}, "streaming needs max_steps"},
      {"E1",
       {"--config_overrides", "n_layer=2", "--config_name", "x"},
       {"--config_overrides", "n_layer=2"},
       "config_overrides is for training from scratch"},
      {"H4", {"--do_predict"}, {"--do_predict", "--test_file", "t.txt"}, "do_predict needs test data"},
      {"L7",
       {"--nproc_per_node", "xpu"},
       {"--nproc_per_node", "auto"},
       "nproc_per_node 'xpu' is not a number of ranks"},
      {"H6", {"--tee", "4"}, {"--tee", "0:3,1:1"}, "names no streams"},
      {"H8", {"--redirects", "out"}, {"--redirects", "0:3,1:1"}, "redirects 'out' names no streams"},
      {"H9", {"--local_ranks_filter", "0,x"}, {"--local_ranks_filter", "0,1"}, "names no local ranks"},
      {"H13", {"--max_time", "1:x"}, {"--max_time", "1-12"}, "max_time '1:x' is no time"},
      {"H10", {"--bind_core_list", "3-1"}, {"--bind_core_list", "0,2-3"}, "names no cores"},
      {"H11",
       {"--bind_cores_to_rank", "--numa_binding", "node"},
       {"--numa_binding", "exclusive"},
       "bound to cores in one way"},
      {"H12",
       {"--signals_to_handle", "SIGTERM,SIGKILL"},
       {"--signals_to_handle", "SIGTERM,SIGQUIT"},
       "SIGKILL"},
      {"H14", {"--train_dir", "images"}, {"--seed", "1"}, "train_dir and train_file both name training data"},
      {"H14",
       {"--validation_file", "v.csv", "--validation_dir", "images"},
       {"--validation_dir", "images"},
       "validation_dir and validation_file both name validation data"},
      {"H17",
       {"--do_eval", "--validation_mismatched_file", "mm.csv"},
       {"--do_eval", "--validation_mismatched_file", "mm.csv", "--task_name", "MNLI"},
       "mismatched data are those of task_name mnli"},
      {"H17",
       {"--do_predict", "--test_file", "t.csv", "--test_mismatched_file", "mm.csv", "--task_name", "qqp"},
       {"--do_predict", "--test_file", "t.csv", "--test_mismatched_file", "mm.csv", "--task_name", "mnli"},
       "mismatched data are those of task_name mnli"},
      {"H7", {"--log_ranks", "0,x"}, {"--log_ranks", "all"}, "log_ranks '0,x' names no ranks"},
      {"H7", {"--log_ranks", "99999999999"}, {"--log_ranks", "9"}, "log_ranks '99999999999' names no ranks"},
  };
  return cases;
}

}  // namespace

TEST_CASE("every rule refuses what breaks it and lets the repaired form through") {
  for (const Case& each : errors()) {
    INFO("rule " << each.rule << ": " << each.says);
    const std::string text = mistakes(each.broken);
    CHECK(contains(text, each.says));
    CHECK(text.find("error: ", 1) == std::string::npos);  // and nothing else
    CHECK(mistakes(each.fixed) == "");
  }
}

TEST_CASE("rules about missing things") {
  const auto text = [](const Words& words) {
    try {
      parse_arguments(words, {});
    } catch (const Error& error) {
      return error.render();
    }
    return std::string();
  };
  CHECK(contains(text({"--model_type", "gpt2"}), "there is no training data"));
  CHECK(contains(text({"--train_file", "a.txt"}), "there is no model"));
  CHECK(contains(text({"--model_type", "gpt2", "--do_eval"}), "there is no evaluation data"));
  CHECK(text({"--model_type", "gpt2", "--do_eval", "--validation_file", "v.txt"}).empty());
  CHECK(contains(text({"--model_type", "gpt2", "--eval_strategy", "epoch", "--validation_file", "v.txt"}),
                 "there is no training data"));
  CHECK(text({"--smoke"}).empty());
}

TEST_CASE("a classification of images without a model is told which one its script takes") {
  const std::string text = [] {
    try {
      parse_arguments(Words{"--task", "image-classification", "--train_dir", "img"}, {});
    } catch (const Error& error) {
      return error.render();
    }
    return std::string();
  }();
  CHECK(contains(text, "there is no model to classify images with"));
  CHECK(contains(text, "try: hftrain fetch google/vit-base-patch16-224-in21k"));
  CHECK_FALSE(contains(text, "--model_name_or_path FOLDER"));
}

TEST_CASE("a task of GLUE names its data where nothing else does") {
  const auto data = [](const Words& words) {
    const Words run = {"--model_type", "bert", "--task", "text-classification", "--task_name", "MRPC"};
    return parse_arguments(also(run, words), {});
  };
  const ParseOutcome glue = data({"--do_train", "--do_eval", "--do_predict"});
  CHECK(glue.arguments.data.dataset_name == "nyu-mll/glue");
  CHECK(glue.arguments.data.dataset_config_name == "mrpc");
  CHECK(glue.origins.filled_in_by("dataset_name") == "task_name");
  CHECK(contains(notes(glue), "the data are mrpc of nyu-mll/glue"));
  CHECK(contains(print_config(glue, "full"), "\n# dataset_name: nyu-mll/glue\n"));
  CHECK(contains(print_config(glue, "full"), "\n# dataset_config_name: mrpc\n"));
  for (const Words& named : {Words{"--train_file", "t.csv"}, Words{"--do_eval", "--validation_file", "v.csv"},
                             Words{"--do_predict", "--test_file", "t.csv"}, Words{"--smoke"}}) {
    INFO(named.back());
    CHECK_FALSE(data(named).arguments.data.dataset_name);
  }
  const ParseOutcome other = data({"--dataset_config_name", "other"});
  CHECK(other.arguments.data.dataset_config_name == "mrpc");
  CHECK(contains(notes(other), "dataset_config_name other has no effect"));
  CHECK_FALSE(contains(notes(data({"--task_name", "nope"})), "of nyu-mll/glue"));
  CHECK_REFUSED(data({"--do_train", "--task_name", ""}), "there is no training data");
  CHECK(data({"--dataset_name", "mine"}).arguments.data.dataset_name == "mine");
  CHECK_FALSE(data({"--dataset_name", "mine"}).arguments.data.dataset_config_name);
}

TEST_CASE("every error rule has a case in this test") {
  std::set<std::string> tested = {"E2", "T1", "H5"};
  for (const Case& each : errors()) tested.insert(each.rule);
  for (const Rule& rule : rules()) {
    INFO(rule.number);
    if (rule.severity == Diagnostic::Severity::kError) CHECK(tested.count(std::string(rule.number)) == 1);
    for (const std::string_view flag : rule.flags) CHECK_NOTHROW(flag_table().named(flag));
  }
}

TEST_CASE("warnings and notes") {
  CHECK(contains(notes(parse({"--max_steps", "5", "--num_train_epochs", "2"})),
                 "max_steps 5 wins over num_train_epochs"));
  CHECK(notes(parse({"--max_steps", "5"})).empty());
  for (const char* flag :
       {"--generation_max_length", "--generation_num_beams", "--num_beams", "--eval_beams"}) {
    CHECK(contains(notes(parse({flag, "5"})), "settings of generation have no effect"));
    CHECK(notes(parse({flag, "5", "--predict_with_generate"})).empty());
  }
  CHECK(contains(notes(parse({"--num_beams", "5", "--generation_num_beams", "2", "--predict_with_generate"})),
                 "generation_num_beams 2 wins over num_beams 5"));
  for (const char* set : {"validation", "test"}) {
    const bool predicts = set == std::string("test");
    const Words mnli =
        predicts ? Words{"--task_name", "mnli", "--test_file", "t.csv"} : Words{"--task_name", "mnli"};
    const std::string flag = "--" + std::string(set) + "_mismatched_file";
    const std::string wanted = predicts ? "--do_predict" : "--do_eval";
    CHECK(contains(notes(parse(also(mnli, {flag, "mm.csv"}))), flag.substr(2) + " is not read"));
    CHECK(notes(parse(also(mnli, {flag, "mm.csv", wanted}))).empty());
    CHECK(contains(notes(parse(also(mnli, {wanted}))), "the matched " + std::string(set) + " set of mnli"));
  }
  CHECK(contains(notes(parse({"--accelerator_config", "{\"split_batches\": true}"})),
                 "size of the global batch"));
  CHECK(contains(notes(parse({"--warmup_steps", "2.5"})), "warmup_steps 2.5 is cut to a whole number"));
  CHECK(contains(notes(parse(also(kEvaluated, {"--lr_scheduler_type", "greedy"}))),
                 "greedy will never lower learning_rate 5e-05"));
  CHECK(contains(notes(parse(also(kEvaluated, {"--lr_scheduler_type", "reduce_lr_on_plateau",
                                               "--metric_for_best_model", "accuracy"}))),
                 "disagree"));
  const Words stops = also(kEvaluated, {"--early_stopping_patience", "2", "--metric_for_best_model", "loss"});
  CHECK(contains(notes(parse(stops)), "ends with its last model, not its best"));
  CHECK_FALSE(contains(
      notes(parse(also(stops, {"--load_best_model_at_end", "--save_steps", "500", "--eval_steps", "500"}))),
      "ends with its last model"));
}

TEST_CASE(
    "a command line without training leaves it out beside an evaluation strategy, a file repeats the "
    "default") {
  const Words evaluates = {"--do_train", "false", "--eval_strategy", "steps", "--eval_steps", "2"};
  const ParseOutcome evaluated = parse(also(evaluates, {"--validation_file", "v.txt"}));
  CHECK(evaluated.arguments.run.do_eval);
  CHECK_FALSE(evaluated.arguments.run.do_train);
  CHECK_FALSE(wants_training(evaluated));
  const ParseOutcome alone = parse({"--do_train", "false"});
  CHECK(wants_training(alone));
  CHECK(contains(warnings(alone), "--do_train false alone has no effect"));
  const std::string minimal = print_config(evaluated, "minimal");
  CHECK(contains(minimal, "do_eval: true"));
  CHECK_FALSE(wants_training(parse({"--do_train", "false", "--do_predict", "--test_file", "t.txt"})));
  const testing::TemporaryDirectory folder;
  const std::string file =
      write(folder / "run.yaml", "do_train: false\neval_strategy: steps\neval_steps: 2\n");
  CHECK(wants_training(parse({"--config", file, "--validation_file", "v.txt"})));
}

TEST_CASE(
    "names of FSDP and of a push that the Trainer has dropped are told, of accelerate launch they are "
    "today's") {
  for (const std::string name : {"fsdp_min_num_params", "fsdp_transformer_layer_cls_to_wrap"}) {
    const std::string value = name == "fsdp_min_num_params" ? "9" : "GPT2Block";
    CAPTURE(name);
    CHECK(contains(notes(parse({"--fsdp", "true", "--" + name, value})), "--" + name + " is an old name"));
    CHECK_FALSE(contains(notes(parse({"--use_fsdp", "--" + name, value})), "is an old name"));
  }
  const Words push = {"--push_to_hub", "--push_to_hub_organization", "org"};
  CHECK(contains(notes(parse(push)), "--push_to_hub_organization is an old name"));
}

TEST_CASE("a release that is none or too old is refused where a configuration is printed, too") {
  for (const std::string release : {"4.31.0", "abc", "6.0"})
    CHECK(contains(mistakes({"--hf_compat", release, "--print_config", "full"}), "hf_compat"));
}

TEST_CASE("a flag that was given and does nothing beside the others is told, once it would act it is not") {
  struct Idle {
    Words given, acts;
    const char* what;
  };
  const Words shard = {"--fsdp", "full_shard"};
  const std::vector<Idle> cases = {
      {{"--early_stopping_threshold", "0.1"},
       also(kEvaluated, {"--early_stopping_patience", "2", "--metric_for_best_model", "loss"}),
       "early_stopping_threshold has no effect"},
      {{"--do_eval", "--resume_from_checkpoint", "true"},
       {"--do_train"},
       "resume_from_checkpoint has no effect"},
      {{"--do_predict", "--test_file", "t.txt", "--overwrite_output_dir"},
       {"--do_train"},
       "overwrite_output_dir has no effect"},
      {{"--greater_is_better", "true"},
       {"--metric_for_best_model", "accuracy"},
       "greater_is_better has no effect"},
      {{"--gradient_checkpointing_kwargs", R"({"every_n_layers": 2})"},
       {"--gradient_checkpointing"},
       "every_n_layers has no effect"},
      {{"--eval_delay", "3"}, kEvaluated, "eval_delay has no effect"},
      {{"--eval_steps", "7"}, {"--eval_strategy", "steps"}, "eval_steps has no effect"},
      {{"--save_steps", "7", "--save_strategy", "epoch"},
       {"--save_strategy", "steps"},
       "save_steps has no effect"},
      {{"--logging_steps", "7", "--logging_strategy", "epoch"},
       {"--logging_strategy", "steps"},
       "logging_steps has no effect"},
      {{"--logging_steps", "7", "--logging_strategy", "no"},
       {"--eval_strategy", "steps"},
       "logging_steps has no effect"},
      {{"--save_steps", "0", "--save_strategy", "no", "--logging_steps", "0", "--logging_strategy", "no"},
       {},
       ""},
      {{"--do_eval", "--profile_steps", "3"}, {"--do_train"}, "what is asked of updates has no effect"},
      {{"--do_eval", "--torch_empty_cache_steps", "3"},
       {"--do_train"},
       "what is asked of updates has no effect"},
      {{"--do_eval", "--debug", "underflow_overflow"}, {}, ""},
      {{"--adam_beta1", "0.8", "--optim", "rmsprop"},
       {"--optim", "lion"},
       "adam_beta1 and adam_beta2 have no effect"},
      {{"--adam_beta2", "0.95", "--optim", "sgd"},
       {"--optim", "adamw_torch"},
       "adam_beta1 and adam_beta2 have no effect"},
      {{"--adam_epsilon", "1e-6", "--optim", "adafactor"},
       {"--optim", "adamw_anyprecision"},
       "adam_epsilon has no effect"},
      {{"--adam_epsilon", "1e-6", "--optim", "lion"}, {"--optim", "adam"}, "adam_epsilon has no effect"},
      {{"--validation_file", "v.txt"}, {"--do_eval"}, "validation data have no effect"},
      {{"--validation_dir", "images"}, {"--eval_on_start"}, "validation data have no effect"},
      {{"--max_eval_samples", "9"}, {"--eval_strategy", "epoch"}, "validation data have no effect"},
      {{"--predict_with_generate", "--prediction_loss_only"},
       {"--prediction_loss_only", "false"},
       "predict_with_generate has no effect"},
      {{"--include_for_metrics", "loss", "--prediction_loss_only"},
       {"--prediction_loss_only", "false"},
       "what is asked of metrics has no effect"},
      {{"--batch_eval_metrics", "--prediction_loss_only"},
       {"--prediction_loss_only", "false"},
       "what is asked of metrics has no effect"},
      {{"--logging_dir", "boards"}, {"--report_to", "tensorboard"}, "logging_dir has no effect"},
      {{"--logging_dir", "boards", "--report_to", "wandb"},
       {"--report_to", "all"},
       "logging_dir has no effect"},
      {{"--project", "mine"}, {"--report_to", "trackio"}, "project has no effect"},
      {{"--packing_strategy", "wrapped"}, {"--packing"}, "packing_strategy has no effect"},
      {{"--packing_strategy", "wrapped"}, {"--eval_packing", "--do_eval"}, "packing_strategy has no effect"},
      {{"--eval_packing"}, {"--do_eval"}, "eval_packing has no effect"},
      {{"--packing", "--truncation_mode", "keep_end"},
       {"--do_eval", "--eval_packing", "false"},
       "truncation_mode has no effect"},
      {{"--truncation_mode", "keep_end", "--max_length", "null"},
       {"--max_length", "8"},
       "truncation_mode has no effect"},
      {{"--hub_model_id", "me/it"}, {"--push_to_hub"}, "options of pushing have no effect"},
      {{"--hub_strategy", "end"}, {"--push_to_hub"}, "options of pushing have no effect"},
      {{"--hub_always_push"}, {"--push_to_hub"}, "options of pushing have no effect"},
      {{"--test_file", "a.txt"}, {"--do_predict"}, "test data have no effect"},
      {{"--max_predict_samples", "4"}, {"--do_predict", "--test_file", "a.txt"}, "test data have no effect"},
      {{"--length_column_name", "n"},
       {"--train_sampling_strategy", "group_by_length"},
       "length_column_name has no effect"},
      {{"--length_column_name", "n"},
       {"--train_sampling_strategy", "batch_rebalance"},
       "length_column_name has no effect"},
      {{"--do_eval", "--resume_from_checkpoint", "false", "--overwrite_output_dir", "false"}, {}, ""},
      {{"--warmup_steps", "5"}, {}, ""},
      {{"--warmup_steps", "5", "--lr_scheduler_type", "constant_with_warmup"}, {}, ""},
      {{"--fsdp_config", R"({"min_num_params": 1000, "auto_wrap_policy": "SIZE_BASED_WRAP"})"},
       shard,
       "without --fsdp"},
  };
  for (const Idle& each : cases) {
    const std::string alone = notes(parse(each.given)), beside = notes(parse(also(each.given, each.acts)));
    INFO(each.given.front() << '\n' << alone << "\nbeside what it needs:\n" << beside);
    if (*each.what != 0) CHECK(contains(alone, each.what));
    CHECK_FALSE(contains(beside, "no effect"));
  }
  for (const char* schedule : {"constant", "reduce_lr_on_plateau", "greedy", "LRRangeTest", "OneCycle"}) {
    Words words = also(kEvaluated, {"--lr_scheduler_type", schedule});
    if (schedule == std::string("OneCycle"))
      words = also(words, {"--lr_scheduler_kwargs", R"({"cycle_min_lr": 0.001, "cycle_max_lr": 0.01})"});
    INFO(schedule);
    CHECK(contains(notes(parse(also(words, {"--warmup_steps", "5"}))), "warmup_steps has no effect"));
    CHECK(contains(notes(parse(also(words, {"--warmup_ratio", "0.1"}))), "warmup_steps has no effect"));
    CHECK_FALSE(contains(notes(parse(words)), "no effect"));
  }
}

TEST_CASE("what will be no best model is told, and the run goes on, as the Trainer's does") {
  const Words best = {"--load_best_model_at_end"};
  const auto told = [](const Words& words) { return notes(parse(words)); };
  CHECK(contains(told(also(best, {"--save_strategy", "no"})),
                 "learns of no best model: the run ends with its last"));
  CHECK(contains(told({"--save_strategy", "best", "--metric_for_best_model", "loss"}),
                 "save_strategy best writes no checkpoint, only the model of the end"));
  const std::string once = told(also(best, {"--save_strategy", "best"}));
  CHECK(contains(once, "learns of no best model"));
  CHECK_FALSE(contains(once, "writes no checkpoint"));  // one cause
  for (const char* interval : {"0.1", "10"}) {
    const Words words = also(also(best, {"--eval_strategy", "steps"}), {"--eval_steps", interval});
    CHECK(contains(told(also(words, {"--save_steps", "0"})),
                   "finds the last checkpoint alone: the run ends with that model"));
    CHECK_FALSE(contains(told(also(words, {"--save_strategy", "best"})), "the run ends with"));
  }
}

TEST_CASE(
    "a file that repeats defaults is told nothing of them, and data_dir names files that may stay unread") {
  const NamedFile file("--config", "run.yaml",
                       "save_strategy: epoch\nsave_steps: 500\nlogging_strategy: 'no'\nlogging_steps: 500\n"
                       "optim: sgd\nadam_beta1: 0.9\nadam_epsilon: 1e-8\nlogging_dir: null\n"
                       "project: huggingface\nmax_eval_samples: null\n");
  CHECK(file.notes().empty());
  const Words pairs = {"--model_type", "gpt2", "--output_dir", "out", "--data_dir", "pairs"};
  CHECK_FALSE(contains(notes(parse_arguments(pairs, {})), "no effect"));
  const Words named =
      also(pairs, {"--validation_file", "pairs/val.source", "--test_file", "pairs/test.source"});
  CHECK_FALSE(contains(notes(parse_arguments(named, {})), "no effect"));
}

TEST_CASE("values that follow from others") {
  CHECK(parse({"--accelerator_config", "{\"gradient_accumulation_kwargs\": {\"num_steps\": 4}}"})
            .arguments.batch.gradient_accumulation_steps == 4);
  CHECK(parse({"--log_level", "error"}).arguments.logging.disable_tqdm == true);
  CHECK(parse({}).arguments.logging.disable_tqdm == false);
  for (const char* level : {"error", "critical", "warning", "info"}) {
    INFO(level);
    const Environment variable(std::map<std::string, std::string>{{"TRANSFORMERS_VERBOSITY", level}});
    const bool hides = std::string(level) == "error" || std::string(level) == "critical";
    for (const Words& words : {Words{}, Words{"--log_level", "passive"}})
      CHECK(parse(words, variable).arguments.logging.disable_tqdm == hides);
    CHECK(parse({"--log_level", "info"}, variable).arguments.logging.disable_tqdm == false);
    CHECK(parse({"--disable_tqdm", "false"}, variable).arguments.logging.disable_tqdm == false);
  }
  CHECK(parse(also(kEvaluated, {"--metric_for_best_model", "accuracy"})).arguments.saving.greater_is_better ==
        true);
  for (const Words& words :
       {Words{"--load_best_model_at_end", "--save_steps", "20"},
        Words{"--lr_scheduler_type", "reduce_lr_on_plateau"}, Words{"--lr_scheduler_type", "greedy"}})
    CHECK(parse(also(kEvaluated, words)).arguments.saving.metric_for_best_model == "loss");
  const ParseOutcome outcome = parse_arguments(Words{"--model_type", "gpt2", "--train_file", "t"}, {});
  CHECK(outcome.arguments.output.output_dir == "trainer_output");
  CHECK(contains(notes(outcome), "the output folder is trainer_output"));
}

TEST_CASE("eval_steps that nobody gave are those of logging_steps, and that is told") {
  const Words steps = {"--eval_strategy", "steps", "--logging_steps", "7"};
  for (const Words& words : {steps, also(steps, {"--eval_steps", "0"})}) {
    const ParseOutcome outcome = parse(words);
    CHECK(outcome.arguments.evaluation.eval_steps == 7);
    CHECK(contains(notes(outcome), "eval_steps is that of logging_steps, 7"));
  }
  CHECK(notes(parse(also(steps, {"--eval_steps", "7"}))).empty());
  CHECK(notes(parse({"--eval_strategy", "epoch", "--logging_steps", "7"})).empty());
}

TEST_CASE("save_steps that are no interval are taken, as the Trainer takes them") {
  for (const char* steps : {"0", "-1"}) {
    INFO(steps);
    CHECK(mistakes({std::string("--save_steps=") + steps}).empty());
  }
}

TEST_CASE("options of schedules are checked against the schedule") {
  const auto with = [](const std::string& schedule, const std::string& options) {
    return mistakes({"--lr_scheduler_type", schedule, "--lr_scheduler_kwargs", options});
  };
  CHECK(contains(with("linear", "{\"num_cycles\": 1}"),
                 "unknown key 'num_cycles'\n  where: --lr_scheduler_kwargs (command line)\n  why: the "
                 "schedule is linear"));
  CHECK(contains(with("constant", "{\"x\": 1}"), "unknown key 'x'"));
  CHECK(with("cosine", "{\"num_cycles\": \"0.5\"}").empty());
  CHECK(contains(with("cosine_with_min_lr", "{}"), "needs one of min_lr and min_lr_rate"));
  CHECK(contains(with("cosine_with_min_lr", "{\"min_lr\": 0, \"min_lr_rate\": 0}"), "both are given"));
  CHECK(contains(with("warmup_stable_decay", "{\"num_stable_steps\": 3}"), "needs num_decay_steps"));
  CHECK(contains(with("warmup_stable_decay", "{\"num_stable_steps\": 3}"), "why: the others of its updates"));
  CHECK(contains(with("cosine_with_restarts", "{\"num_cycles\": true}"),
                 "try: docs/optimizers_and_schedules.md"));
  CHECK(contains(with("warmup_stable_decay", "{\"num_decay_steps\": 3, \"decay_type\": \"exp\"}"),
                 "'exp' is not one of linear, cosine, 1-sqrt"));
  CHECK(contains(with("polynomial", "{\"lr_end\": 1}"), "cannot end at lr_end 1.0"));
  CHECK(contains(with("inverse_sqrt", "{\"timescale\": 0}"), "key 'timescale': 0 is not a number > 0"));
  CHECK(with("inverse_sqrt", "{\"timescale\": 2.5}").empty());
  CHECK(with("cosine_with_restarts", "{\"num_cycles\": 2.5}").empty());
  CHECK(with("cosine_with_min_lr", "{\"min_lr_rate\": 1.5}").empty());
  CHECK(with("warmup_stable_decay", "{\"num_decay_steps\": 2.0}").empty());
  CHECK(contains(with("warmup_stable_decay", "{\"num_decay_steps\": 2.5}"), "2.5 is not a whole number"));
  CHECK(contains(mistakes({"--eval_strategy", "epoch", "--lr_scheduler_type", "reduce_lr_on_plateau",
                           "--lr_scheduler_kwargs", "{\"factor\": 0}"}),
                 "key 'factor': 0"));
  CHECK(contains(mistakes({"--eval_strategy", "epoch", "--lr_scheduler_type", "greedy",
                           "--lr_scheduler_kwargs", "{\"verbose\": true}"}),
                 "key 'verbose' is not supported"));
  // Another rule compares min_lr, which stays as it was written beside a mistake.
  CHECK(contains(mistakes({"--eval_strategy", "epoch", "--lr_scheduler_type", "greedy",
                           "--lr_scheduler_kwargs", "{\"min_lr\": \"1e-4\", \"nope\": 1}"}),
                 "unknown key 'nope'"));
}

TEST_CASE("an option of activation checkpointing that nobody knows is refused") {
  const std::string told =
      mistakes({"--gradient_checkpointing", "--gradient_checkpointing_kwargs", R"({"every_layer": 2})"});
  CHECK(contains(told, "gradient_checkpointing_kwargs: unknown key 'every_layer'"));
  CHECK(contains(told, "did you mean every_n_layers?"));
}

TEST_CASE("optim_args are key=value pairs that the optimizer knows") {
  CHECK(contains(mistakes({"--optim_args", "beta1=0.9"}), "optim_args: unknown key 'beta1'"));
  CHECK(contains(mistakes({"--optim", "sgd", "--optim_args", "momentun=0.9"}), "did you mean momentum?"));
  CHECK(contains(mistakes({"--optim", "sgd", "--optim_args", "nesterov=maybe"}),
                 "'maybe' is not a truth value"));
  CHECK(mistakes({"--optim", "sgd", "--optim_args", "momentum=0.9, nesterov=True"}).empty());
  CHECK(mistakes({"--optim", "adamw_anyprecision", "--optim_args", "variance_dtype=bfloat16"}).empty());
  CHECK(parse({"--optim", "lion"}).arguments.optimizer.optim == "lion_32bit");
  CHECK(parse({"--optim", "adamw_apex_fused"}).arguments.optimizer.optim == "adamw_torch_fused");
  CHECK(contains(mistakes({"--optim_args", "beta1"}), "'beta1' is not key=value"));
  CHECK(contains(mistakes({"--optim_args", "beta1"}), "try: --optim_args beta1=VALUE"));
  CHECK(mistakes({"--optim_args", ""}).empty());
}

TEST_CASE("nesterov without momentum is refused where it is written") {
  for (const char* options :
       {"nesterov=true", "nesterov=true,momentum=0", "nesterov=true,momentum=0.9,dampening=0.5"})
    CHECK(contains(mistakes({"--optim", "sgd", "--optim_args", options}),
                   "nesterov needs momentum and no dampening"));
  CHECK(mistakes({"--optim", "sgd", "--optim_args", "nesterov=false"}).empty());
}

TEST_CASE("translation_xx_to_yy is a translation, whose languages hold where none are given") {
  const ParseOutcome named = parse({"--task", "translation_en_to_ro"});
  CHECK(named.arguments.run.task == "translation");
  CHECK(named.arguments.data.source_lang == "en");
  CHECK(named.arguments.data.target_lang == "ro");
  const ParseOutcome given = parse({"--task", "translation_en_to_ro", "--source_lang", "en_XX"});
  CHECK(given.arguments.data.source_lang == "en_XX");
  CHECK(given.arguments.data.target_lang == "ro");
  for (const char* word : {"translation_", "translation_en", "translation_en_to_", "translation__to_ro"})
    CHECK(contains(mistakes({"--task", word}), "--task"));
}

TEST_CASE("words that people have for a task lead to it") {
  CHECK(parse({"--task", "summarization_xsum"}).arguments.run.task == "summarization");
  CHECK(parse({"--task", "summarization_xsum", "--plugin", "mine.so"}).arguments.run.task ==
        "summarization_xsum");  // it may be the plug-in's
  const std::pair<const char*, const char*> meant[] = {
      {"ner", "did you mean token-classification?"},
      {"glue", "did you mean text-classification?"},
      {"qa", "did you mean question-answering?"},
      {"squad", "did you mean question-answering?"},
      {"run_clm", "did you mean clm?"},
      {"causal-lm", "did you mean clm?"},
      {"CAUSAL_LM", "did you mean clm?"},
      {"SEQ_CLS", "did you mean text-classification?"},
      {"text2text-generation", "did you mean seq2seq?"},
      {"token_classification", "did you mean token-class"},
      {"MRPC", "--task text-classification --task_name mrpc"},
      {"summarization_", "did you mean summarization?"}};
  for (const auto& [word, hint] : meant) {
    INFO(word);
    CHECK(contains(mistakes({"--task", word}), std::string("try: ") + hint));
  }
  CHECK(contains(mistakes({"--task", "dreaming"}), "hftrain explain task"));
}

TEST_CASE("an option of an optimizer that is given twice is told") {
  CHECK(contains(mistakes({"--optim", "sgd", "--optim_args", "momentum=0.9,momentum=0.5"}),
                 "'momentum' is given twice"));
}

TEST_CASE("noise of NEFTune has no size below nothing") {
  CHECK(contains(mistakes({"--neftune_noise_alpha", "-1"}), "neftune_noise_alpha: '-1' is not a number"));
  CHECK(mistakes({"--neftune_noise_alpha", "0"}).empty());
}

TEST_CASE("the weight_decay of optim_args is that of the run") {
  for (const char* optimizer : {"sgd", "adagrad", "rmsprop"}) {
    INFO(optimizer);
    const Words words = {"--optim", optimizer, "--optim_args", "weight_decay=0.1"};
    CHECK(parse(words).arguments.optimizer.weight_decay == 0.1);
    CHECK(parse(words).origins.of("weight_decay") == "--optim_args");
    CHECK(contains(notes(parse(words)), "the Trainer passes over it"));
    CHECK_FALSE(contains(notes(parse({words[0], words[1], words[2], words[3], "--weight_decay", "0.1"})),
                         "the Trainer passes over it"));
    CHECK(mistakes({words[0], words[1], words[2], words[3], "--weight_decay", "0.1"}).empty());
    CHECK(contains(mistakes({words[0], words[1], words[2], words[3], "--weight_decay", "0.2"}),
                   "say two different things"));
  }
}

}  // namespace hftrain::arguments
