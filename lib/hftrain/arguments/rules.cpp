#include "hftrain/arguments/rules.h"

#include <algorithm>
#include <cmath>

#include "hftrain/arguments/flag_table.h"
#include "hftrain/arguments/import/launch.h"
#include "hftrain/arguments/merge.h"
#include "hftrain/arguments/value.h"
#include "hftrain/base/cpu_list.h"
#include "hftrain/base/text.h"

namespace hftrain::arguments {
namespace {

using Severity = Diagnostic::Severity;
using Outcome = const ParseOutcome&;

bool whole(double value) {
  return value == std::floor(value);
}
bool broken_interval(double steps) {
  return steps > 1 && !whole(steps);
}
bool is(Outcome o, const char* unread_flag, const Json& value) {
  const auto found = o.unread.find(unread_flag);
  return found != o.unread.end() && found->second == value;
}
bool given(Outcome o, const char* unread_flag) {
  const auto found = o.unread.find(unread_flag);
  return found != o.unread.end() && !found->second.empty() && found->second != Json::array({"false"});
}
bool best_at_end(Outcome o) {
  return o.arguments.saving.load_best_model_at_end.value_or(false);
}
bool training(Outcome o) {
  return o.arguments.run.do_train || (!o.arguments.run.do_eval && !o.arguments.run.do_predict) ||
         (!o.origins.is_given("do_eval") && !o.arguments.run.do_predict);
}
bool names_mnli(Outcome o) {
  const std::optional<std::string>& name = o.arguments.data.task_name;
  return name && to_lower(*name) == "mnli";
}
bool evaluating(Outcome o) {
  return o.arguments.run.do_eval || o.arguments.evaluation.eval_strategy != "no";
}
// Strategy steps with an interval that is not one. Unset and 0 of eval_steps were replaced before.
bool no_interval(const std::string& strategy, double steps) {
  return strategy == "steps" && steps <= 0;
}

// save_steps must be a multiple of eval_steps; shares are compared in millionths, because 0.3 is no multiple
// of 0.1.
bool not_a_multiple(double save, double eval) {
  if (save < 1 || eval < 1) {
    if (save >= 1 || eval >= 1) return true;
    constexpr double kMillion = 1e6;
    return std::fmod(std::round(save * kMillion), std::round(eval * kMillion)) != 0;
  }
  return std::fmod(save, eval) != 0;
}

// The user asked for it, other than by a file that repeats the default.
bool chosen(Outcome o, const char* flag) {
  return o.origins.is_given(flag) && o.origins.is_chosen(flag);
}
// Schedules that take no warm-up from warmup_steps.
bool warms_up(const std::string& schedule) {
  return schedule != "constant" && schedule != "reduce_lr_on_plateau" && schedule != "greedy" &&
         schedule != "LRRangeTest" && schedule != "OneCycle";
}
// Strategies that free parameters behind a unit's forward pass, so that they are gathered again.
bool gathers_forward(const ParallelOptions& sharding) {
  return sharding.strategy.value_or("none").ends_with("_shard") && sharding.strategy.value != "no_shard";
}

bool valid_tee(const std::string& text) {
  const auto stream = [](const std::string& word) {
    return word.size() == 1 && word[0] >= '0' && word[0] <= '3';
  };
  if (stream(text)) return true;
  for (const std::string& part : split(text, ',')) {
    const std::vector<std::string> pair = split(part, ':');
    const bool rank =
        pair.size() == 2 && !pair[0].empty() && pair[0].find_first_not_of("0123456789") == std::string::npos;
    if (!rank || !stream(pair[1])) return false;
  }
  return true;
}

bool valid_ranks(const std::string& text) {
  if (text == "all") return true;
  for (const std::string& part : split(text, ',')) {
    if (part.empty() || part.find_first_not_of("0123456789") != std::string::npos) return false;
  }
  return true;
}

bool valid_signals(const std::string& text) {
  const std::vector<std::string> known = {"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"};
  const std::vector<std::string> names = split(text, ',');
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  });
}

bool valid_cores(const std::string& text) {
  const auto cores = parse_cpu_list(text);
  return cores && !cores->empty();
}

const Rule kRules[] = {
    {"8",
     Severity::kError,
     {"eval_strategy", "eval_steps", "logging_steps"},
     [](Outcome o) {
       return no_interval(o.arguments.evaluation.eval_strategy,
                          o.arguments.evaluation.eval_steps.value_or(0));
     },
     "eval_strategy steps needs an interval",
     "eval_steps is not above 0, and neither is logging_steps",
     "--eval_steps N"},
    {"9",
     Severity::kError,
     {"logging_strategy", "logging_steps"},
     [](Outcome o) {
       return no_interval(o.arguments.logging.logging_strategy, o.arguments.logging.logging_steps);
     },
     "logging_strategy steps needs logging_steps above 0, not {logging_steps}",
     "",
     "--logging_strategy no to log nothing"},
    {"H1",
     Severity::kError,
     {"save_strategy", "save_steps"},
     [](Outcome o) { return no_interval(o.arguments.saving.save_strategy, o.arguments.saving.save_steps); },
     "save_strategy steps needs save_steps above 0, not {save_steps}",
     "",
     "--save_strategy no to save nothing on the way"},
    {"10",
     Severity::kError,
     {"logging_steps"},
     [](Outcome o) {
       return o.arguments.logging.logging_strategy == "steps" &&
              broken_interval(o.arguments.logging.logging_steps);
     },
     "logging_steps {logging_steps} is neither a whole number of updates nor a share below 1",
     "",
     ""},
    {"10",
     Severity::kError,
     {"eval_steps"},
     [](Outcome o) {
       return o.arguments.evaluation.eval_strategy == "steps" &&
              broken_interval(o.arguments.evaluation.eval_steps.value_or(0));
     },
     "eval_steps {eval_steps} is neither a whole number of updates nor a share below 1",
     "",
     ""},
    {"10",
     Severity::kError,
     {"save_steps"},
     [](Outcome o) {
       return o.arguments.saving.save_strategy == "steps" && broken_interval(o.arguments.saving.save_steps);
     },
     "save_steps {save_steps} is neither a whole number of updates nor a share below 1",
     "",
     ""},
    {"12",
     Severity::kError,
     {"load_best_model_at_end", "save_strategy", "eval_strategy"},
     [](Outcome o) {
       const std::string& save = o.arguments.saving.save_strategy;
       return best_at_end(o) && save != "best" && save != o.arguments.evaluation.eval_strategy;
     },
     "load_best_model_at_end needs the same strategy for saving and evaluating",
     "save_strategy is {save_strategy}, eval_strategy is {eval_strategy}",
     "make them equal, or --save_strategy best"},
    {"13",
     Severity::kError,
     {"load_best_model_at_end", "save_steps", "eval_steps"},
     [](Outcome o) {
       const double eval = o.arguments.evaluation.eval_steps.value_or(0);
       const bool both =
           o.arguments.saving.save_strategy == "steps" && o.arguments.evaluation.eval_strategy == "steps";
       return best_at_end(o) && both && eval > 0 && not_a_multiple(o.arguments.saving.save_steps, eval);
     },
     "load_best_model_at_end needs save_steps to be a multiple of eval_steps",
     "save_steps is {save_steps}, eval_steps is {eval_steps}",
     ""},
    {"12",
     Severity::kError,
     {"load_best_model_at_end", "eval_strategy"},
     [](Outcome o) {
       const std::string& save = o.arguments.saving.save_strategy;
       return best_at_end(o) && o.arguments.evaluation.eval_strategy == "no" &&
              (save == "best" || save == "no");
     },
     "load_best_model_at_end needs evaluations to know the best model",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"T2",
     Severity::kError,
     {"save_strategy", "metric_for_best_model"},
     [](Outcome o) {
       return o.arguments.saving.save_strategy == "best" && !o.arguments.saving.metric_for_best_model;
     },
     "save_strategy best needs metric_for_best_model",
     "",
     "--metric_for_best_model loss"},
    {"H2",
     Severity::kError,
     {"save_strategy", "eval_strategy"},
     [](Outcome o) {
       return o.arguments.saving.save_strategy == "best" && o.arguments.evaluation.eval_strategy == "no" &&
              !best_at_end(o);
     },
     "save_strategy best needs evaluations",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"H3",
     Severity::kError,
     {"early_stopping_patience", "eval_strategy"},
     [](Outcome o) {
       return o.arguments.saving.early_stopping_patience && o.arguments.evaluation.eval_strategy == "no";
     },
     "early_stopping_patience needs evaluations",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"18",
     Severity::kError,
     {"fp16", "bf16"},
     [](Outcome o) { return o.arguments.precision.fp16 && o.arguments.precision.bf16; },
     "fp16 and bf16 exclude each other",
     "",
     "keep one of them"},
    {"19",
     Severity::kError,
     {"fp16_full_eval", "bf16_full_eval"},
     [](Outcome o) { return o.arguments.precision.fp16_full_eval && o.arguments.precision.bf16_full_eval; },
     "fp16_full_eval and bf16_full_eval exclude each other",
     "",
     "keep one of them"},
    {"21",
     Severity::kError,
     {"bf16", "half_precision_backend"},
     [](Outcome o) { return o.arguments.precision.bf16 && is(o, "half_precision_backend", "apex"); },
     "bf16 and half_precision_backend apex exclude each other",
     "Apex knows float16 only",
     "leave half_precision_backend out"},
    {"23",
     Severity::kError,
     {"fp16", "use_cpu"},
     [](Outcome o) { return o.arguments.precision.fp16 && o.arguments.device.use_cpu; },
     "fp16 does not work on the CPU",
     "loss-scaled float16 needs a GPU",
     "--bf16, or neither"},
    {"22",
     Severity::kError,
     {"fp16_full_eval", "use_cpu"},
     [](Outcome o) { return o.arguments.precision.fp16_full_eval && o.arguments.device.use_cpu; },
     "fp16_full_eval does not work on the CPU",
     "",
     "--bf16_full_eval, or neither"},
    {"24",
     Severity::kError,
     {"lr_scheduler_type", "eval_strategy"},
     [](Outcome o) {
       return o.arguments.schedule.lr_scheduler_type == "reduce_lr_on_plateau" &&
              o.arguments.evaluation.eval_strategy == "no";
     },
     "the schedule reduce_lr_on_plateau needs evaluations",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"46",
     Severity::kError,
     {"lr_scheduler_type", "eval_strategy"},
     [](Outcome o) {
       return o.arguments.schedule.lr_scheduler_type == "greedy" &&
              o.arguments.evaluation.eval_strategy == "no";
     },
     "the schedule greedy needs evaluations",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"33",
     Severity::kError,
     {"dataloader_prefetch_factor", "dataloader_num_workers"},
     [](Outcome o) {
       return o.arguments.data.dataloader_prefetch_factor && o.arguments.data.dataloader_num_workers == 0;
     },
     "dataloader_prefetch_factor needs dataloader_num_workers above 0",
     "without workers nothing is prepared ahead",
     "--dataloader_num_workers N, or leave the factor out"},
    {"36",
     Severity::kError,
     {"gradient_accumulation_steps", "accelerator_config"},
     [](Outcome o) {
       const auto& config = o.arguments.parallel.accelerator_config;
       const int64_t steps = o.arguments.batch.gradient_accumulation_steps;
       return config && config->accumulation_num_steps && steps > 1 &&
              o.origins.is_given("gradient_accumulation_steps");
     },
     "accumulation steps are given twice",
     "gradient_accumulation_steps is {gradient_accumulation_steps}, and accelerator_config has "
     "gradient_accumulation_kwargs.num_steps",
     "keep gradient_accumulation_steps"},
    {"58",
     Severity::kError,
     {"max_steps"},
     [](Outcome o) { return o.arguments.run.max_steps == 0; },
     "max_steps 0 trains nothing",
     "",
     "a number above 0, or -1 to go by num_train_epochs"},
    {"T3",
     Severity::kError,
     {"streaming", "max_steps"},
     [](Outcome o) { return o.arguments.data.streaming && training(o) && o.arguments.run.max_steps < 0; },
     "streaming needs max_steps",
     "nobody knows how many samples a stream has, so epochs do not say when training ends",
     "--max_steps N"},
    {"55",
     Severity::kNote,
     {"max_steps", "num_train_epochs"},
     [](Outcome o) {
       return o.arguments.run.max_steps > 0 && o.origins.is_chosen("num_train_epochs") &&
              o.arguments.run.num_train_epochs > 0;
     },
     "max_steps {max_steps} wins over num_train_epochs",
     "",
     ""},
    {"57",
     Severity::kNote,
     {"accelerator_config"},
     [](Outcome o) {
       return o.arguments.parallel.accelerator_config &&
              o.arguments.parallel.accelerator_config->split_batches;
     },
     "with split_batches the per-device batch size is the size of the global batch",
     "",
     ""},
    {"32",
     Severity::kNote,
     {"warmup_steps"},
     [](Outcome o) { return broken_interval(o.arguments.schedule.warmup_steps); },
     "warmup_steps {warmup_steps} is cut to a whole number",
     "",
     ""},
    {"24",
     Severity::kWarning,
     {"lr_scheduler_kwargs", "greater_is_better"},
     [](Outcome o) {
       const Json options = o.arguments.schedule.lr_scheduler_kwargs.value_or(Json::object());
       const bool up = options.contains("mode") && options["mode"] == "max";
       return o.arguments.schedule.lr_scheduler_type == "reduce_lr_on_plateau" &&
              o.arguments.saving.greater_is_better.value_or(up) != up;
     },
     "the schedule's mode and greater_is_better disagree",
     "greater_is_better is {greater_is_better}; the mode does not follow it",
     "give the mode in lr_scheduler_kwargs"},
    {"46",
     Severity::kWarning,
     {"lr_scheduler_type", "learning_rate"},
     [](Outcome o) {
       const Json options = o.arguments.schedule.lr_scheduler_kwargs.value_or(Json::object());
       return o.arguments.schedule.lr_scheduler_type == "greedy" &&
              options.value("min_lr", 1e-3) > o.arguments.optimizer.learning_rate;
     },
     "the schedule greedy will never lower learning_rate {learning_rate}",
     "its min_lr (default 0.001) is larger",
     "min_lr in lr_scheduler_kwargs"},
    {"49",
     Severity::kWarning,
     {"gradient_checkpointing", "fsdp"},
     [](Outcome o) {
       return o.arguments.precision.gradient_checkpointing && given(o, "fsdp") &&
              !o.arguments.parallel.sharding.activation_checkpointing.value_or(false);
     },
     "with --fsdp the Trainer wants activation_checkpointing of fsdp_config instead of "
     "gradient_checkpointing",
     "both recompute activations here, in the same way",
     "fsdp_config with activation_checkpointing: true"},
    {"F6",
     Severity::kError,
     {"gradient_checkpointing", "fsdp_config", "fsdp_activation_checkpointing"},
     [](Outcome o) {
       return o.arguments.precision.gradient_checkpointing &&
              o.arguments.parallel.sharding.activation_checkpointing.value_or(false);
     },
     "gradient_checkpointing and activation_checkpointing exclude each other",
     "they are two names of one thing",
     "keep activation_checkpointing of fsdp_config"},
    {"52",
     Severity::kWarning,
     {"accelerator_config", "dataloader_pin_memory"},
     [](Outcome o) {
       const auto& config = o.arguments.parallel.accelerator_config;
       return config && config->non_blocking && !o.arguments.data.dataloader_pin_memory;
     },
     "non_blocking has no effect without dataloader_pin_memory",
     "",
     "--dataloader_pin_memory true"},
    {"T8",
     Severity::kError,
     {"save_only_model", "fsdp_config", "fsdp_state_dict_type"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return o.arguments.saving.save_only_model && sharding.state_dict &&
              sharding.state_dict.value == "sharded";
     },
     "save_only_model and state_dict_type SHARDED_STATE_DICT exclude each other",
     "sharded weights alone are not a model that opens elsewhere",
     "FULL_STATE_DICT, or without save_only_model"},
    {"E1",
     Severity::kError,
     {"config_overrides", "config_name", "model_name_or_path"},
     [](Outcome o) {
       const ModelArguments& model = o.arguments.model;
       return model.config_overrides && (model.config_name || model.model_name_or_path);
     },
     "config_overrides is for training from scratch",
     "the configuration comes from config_name or model_name_or_path here",
     "leave one of them out"},
    {"E2",
     Severity::kError,
     {"train_file"},
     [](Outcome o) {
       return training(o) && !o.arguments.interface.smoke && o.arguments.data.train_file.empty() &&
              !o.arguments.data.dataset_name;
     },
     "there is no training data",
     "neither train_file nor dataset_name was given",
     "--train_file FILE…, of images --train_dir FOLDER, or --dataset_name",
     true},
    {"H14",
     Severity::kError,
     {"dataset_name", "train_file", "validation_file", "test_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.dataset_name &&
              !(data.train_file.empty() && data.validation_file.empty() && data.test_file.empty() &&
                data.validation_mismatched_file.empty() && data.test_mismatched_file.empty());
     },
     "dataset_name and files both name the data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"dataset_config_name", "dataset_name"},
     [](Outcome o) { return o.arguments.data.dataset_config_name && !o.arguments.data.dataset_name; },
     "dataset_config_name is a configuration of a data set, and none is named",
     "",
     "--dataset_name, or leave it out"},
    {"H14",
     Severity::kError,
     {"train_dir", "train_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.train_dir && data.train_file != std::vector<std::string>{*data.train_dir};
     },
     "train_dir and train_file both name training data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"validation_dir", "validation_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.validation_dir && data.validation_file != std::vector<std::string>{*data.validation_dir};
     },
     "validation_dir and validation_file both name validation data",
     "",
     "leave one of them out"},
    {"H14",
     Severity::kError,
     {"data_dir", "train_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return data.data_dir && data.train_file != std::vector<std::string>{*data.data_dir + "/train.source"};
     },
     "data_dir and train_file both name training data",
     "",
     "leave one of them out"},
    {"T1",
     Severity::kError,
     {"eval_strategy", "validation_file"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return evaluating(o) && !o.arguments.interface.smoke && data.train_file.empty() &&
              data.validation_file.empty() && !data.dataset_name;
     },
     "there is no evaluation data",
     "",
     "--validation_file FILE…, or --train_file, of which a share is held out",
     true},
    {"H4",
     Severity::kError,
     {"do_predict", "test_file"},
     [](Outcome o) {
       return o.arguments.run.do_predict && !o.arguments.interface.smoke &&
              o.arguments.data.test_file.empty() && !o.arguments.data.dataset_name;
     },
     "do_predict needs test data",
     "",
     "--test_file FILE…",
     true},
    {"H5",
     Severity::kError,
     {"model_name_or_path", "model_type", "config_name"},
     [](Outcome o) {
       const ModelArguments& model = o.arguments.model;
       return !o.arguments.interface.smoke && !model.model_name_or_path && !model.model_type &&
              !model.config_name;
     },
     "there is no model",
     "",
     "--model_name_or_path FOLDER, or --model_type FAMILY to train from scratch",
     true},
    {"L7",
     Severity::kError,
     {"nproc_per_node"},
     [](Outcome o) {
       return o.arguments.launch.nproc_per_node && !says_rank_count(*o.arguments.launch.nproc_per_node);
     },
     "nproc_per_node '{nproc_per_node}' is not a number of ranks",
     "",
     "a number above 0, gpu, cpu or auto"},
    {"H6",
     Severity::kError,
     {"tee"},
     [](Outcome o) { return !valid_tee(o.arguments.launch.tee); },
     "tee '{tee}' names no streams",
     "",
     "0 none, 1 out, 2 err, 3 both, or per rank 0:3,1:1"},
    {"H8",
     Severity::kError,
     {"redirects"},
     [](Outcome o) { return !valid_tee(o.arguments.launch.redirects); },
     "redirects '{redirects}' names no streams",
     "",
     "0 none, 1 out, 2 err, 3 both, or per rank 0:3,1:1"},
    {"H7",
     Severity::kError,
     {"log_ranks"},
     [](Outcome o) { return !valid_ranks(o.arguments.launch.log_ranks); },
     "log_ranks '{log_ranks}' names no ranks",
     "",
     "numbers joined by commas, or all"},
    {"H9",
     Severity::kError,
     {"local_ranks_filter"},
     [](Outcome o) {
       const std::string& named = o.arguments.launch.local_ranks_filter;
       return !named.empty() && (named == "all" || !valid_ranks(named));
     },
     "local_ranks_filter '{local_ranks_filter}' names no local ranks",
     "",
     "numbers joined by commas"},
    {"H12",
     Severity::kError,
     {"signals_to_handle"},
     [](Outcome o) { return !valid_signals(o.arguments.launch.signals_to_handle); },
     "signals_to_handle '{signals_to_handle}' names a signal that cannot stop a run",
     "",
     "SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, joined by commas"},
    {"H13",
     Severity::kError,
     {"max_time"},
     [](Outcome o) { return o.arguments.launch.max_time && !seconds_of(*o.arguments.launch.max_time); },
     "max_time '{max_time}' is no time",
     "",
     "minutes, hours:minutes:seconds, or days-hours, as for Slurm's --time"},
    {"H10",
     Severity::kError,
     {"bind_core_list"},
     [](Outcome o) {
       return o.arguments.launch.bind_core_list && !valid_cores(*o.arguments.launch.bind_core_list);
     },
     "bind_core_list '{bind_core_list}' names no cores",
     "",
     "numbers and ranges joined by commas, as 1,3-5,7"},
    {"H11",
     Severity::kError,
     {"bind_cores_to_rank", "numa_binding", "enable_cpu_affinity"},
     [](Outcome o) {
       const LaunchArguments& launch = o.arguments.launch;
       return launch.bind_cores_to_rank && (launch.numa_binding || launch.enable_cpu_affinity);
     },
     "ranks can be bound to cores in one way",
     "bind_cores_to_rank divides all cores, numa_binding and enable_cpu_affinity those near the GPU",
     "one of them"},
    {"H15",
     Severity::kWarning,
     {"generation_max_length", "generation_num_beams", "num_beams"},
     [](Outcome o) {
       const auto& asked = o.arguments.evaluation;
       return !asked.predict_with_generate &&
              (asked.generation_max_length || asked.generation_num_beams || asked.num_beams);
     },
     "settings of generation have no effect",
     "evaluation generates text with predict_with_generate",
     "--predict_with_generate"},
    {"H16",
     Severity::kWarning,
     {"generation_num_beams", "num_beams"},
     [](Outcome o) {
       const auto& asked = o.arguments.evaluation;
       return asked.generation_num_beams && asked.num_beams && asked.generation_num_beams != asked.num_beams;
     },
     "generation_num_beams {generation_num_beams} wins over num_beams {num_beams}",
     "both say how many beams evaluation has",
     "one of them"},
    {"H17",
     Severity::kError,
     {"validation_mismatched_file", "test_mismatched_file", "task_name"},
     [](Outcome o) {
       const DataArguments& data = o.arguments.data;
       return !names_mnli(o) &&
              !(data.validation_mismatched_file.empty() && data.test_mismatched_file.empty());
     },
     "mismatched data are those of task_name mnli",
     "no other task has a second validation or test set",
     "--task_name mnli; or a run of its own with --validation_file or --test_file"},
    {"H18",
     Severity::kWarning,
     {"validation_mismatched_file", "do_eval"},
     [](Outcome o) { return !evaluating(o) && !o.arguments.data.validation_mismatched_file.empty(); },
     "validation_mismatched_file is not read",
     "the mismatched set is evaluated at the end, which do_eval asks for",
     "--do_eval"},
    {"H18",
     Severity::kWarning,
     {"test_mismatched_file", "do_predict"},
     [](Outcome o) { return !o.arguments.run.do_predict && !o.arguments.data.test_mismatched_file.empty(); },
     "test_mismatched_file is not read",
     "test data are for do_predict",
     "--do_predict"},
    {"H19",
     Severity::kNote,
     {"task_name", "validation_mismatched_file"},
     [](Outcome o) {
       return names_mnli(o) && evaluating(o) && !o.arguments.interface.smoke &&
              !o.arguments.data.dataset_name && o.arguments.data.validation_mismatched_file.empty();
     },
     "the matched validation set of mnli is evaluated alone",
     "the mismatched one was not named",
     "--validation_mismatched_file FILE…"},
    {"H19",
     Severity::kNote,
     {"task_name", "test_mismatched_file"},
     [](Outcome o) {
       return names_mnli(o) && o.arguments.run.do_predict && !o.arguments.interface.smoke &&
              !o.arguments.data.dataset_name && o.arguments.data.test_mismatched_file.empty();
     },
     "the matched test set of mnli is predicted alone",
     "the mismatched one was not named",
     "--test_mismatched_file FILE…"},
    {"H20",
     Severity::kWarning,
     {"dataset_train_split", "dataset_test_split", "dataset_name"},
     [](Outcome o) {
       const InstructionArguments& asked = o.arguments.instructions;
       return !o.arguments.data.dataset_name &&
              (asked.dataset_train_split != "train" || asked.dataset_test_split != "test");
     },
     "dataset_train_split and dataset_test_split have no effect",
     "they are splits of a data set, and files are named instead",
     "--train_file and --validation_file name the files; or --dataset_name"},
    {"H21",
     Severity::kWarning,
     {"early_stopping_threshold", "early_stopping_patience"},
     [](Outcome o) {
       return chosen(o, "early_stopping_threshold") && !o.arguments.saving.early_stopping_patience;
     },
     "early_stopping_threshold has no effect",
     "training stops early with early_stopping_patience only",
     "--early_stopping_patience N"},
    {"H21",
     Severity::kNote,
     {"greater_is_better", "metric_for_best_model"},
     [](Outcome o) { return chosen(o, "greater_is_better") && !o.arguments.saving.metric_for_best_model; },
     "greater_is_better has no effect",
     "there is no metric whose best value is looked for",
     "--metric_for_best_model NAME, or leave it out"},
    {"H21",
     Severity::kWarning,
     {"gradient_checkpointing_kwargs", "gradient_checkpointing"},
     [](Outcome o) {
       const PrecisionArguments& precision = o.arguments.precision;
       const auto& options = precision.gradient_checkpointing_kwargs;
       return options && options->every_n_layers != 1 && !precision.gradient_checkpointing &&
              !o.arguments.parallel.sharding.activation_checkpointing.value_or(false);
     },
     "every_n_layers has no effect",
     "no layer is computed again in the backward pass",
     "--gradient_checkpointing"},
    {"H21",
     Severity::kNote,
     {"eval_delay", "eval_strategy"},
     [](Outcome o) {
       return chosen(o, "eval_delay") && o.arguments.evaluation.eval_delay.value_or(0) > 0 &&
              o.arguments.evaluation.eval_strategy == "no";
     },
     "eval_delay has no effect",
     "nothing is evaluated while it trains: eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"H21",
     Severity::kNote,
     {"eval_steps", "eval_strategy"},
     [](Outcome o) {
       return chosen(o, "eval_steps") && o.arguments.evaluation.eval_steps.value_or(0) > 0 &&
              o.arguments.evaluation.eval_strategy != "steps";
     },
     "eval_steps has no effect",
     "eval_strategy is {eval_strategy}",
     "--eval_strategy steps"},
    {"H21",
     Severity::kNote,
     {"warmup_steps", "lr_scheduler_type"},
     [](Outcome o) {
       return o.origins.is_chosen("warmup_steps") && o.arguments.schedule.warmup_steps > 0 &&
              !warms_up(o.arguments.schedule.lr_scheduler_type);
     },
     "warmup_steps has no effect",
     "the schedule {lr_scheduler_type} has no warm-up of that kind",
     "--lr_scheduler_type constant_with_warmup, or another one that warms up"},
    {"H21",
     Severity::kNote,
     {"packing_strategy", "packing"},
     [](Outcome o) {
       const InstructionArguments& asked = o.arguments.instructions;
       return chosen(o, "packing_strategy") && !asked.packing && !asked.eval_packing.value_or(false);
     },
     "packing_strategy has no effect",
     "nothing is packed",
     "--packing"},
    {"H21",
     Severity::kNote,
     {"eval_packing", "eval_strategy", "do_eval"},
     [](Outcome o) { return chosen(o, "eval_packing") && !evaluating(o); },
     "eval_packing has no effect",
     "nothing is evaluated",
     "--do_eval, or --eval_strategy steps or epoch"},
    {"H21",
     Severity::kWarning,
     {"fsdp_ignored_modules", "fsdp_config", "fsdp", "fsdp_sharding_strategy"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return sharding.ignored_modules && sharding.strategy.value_or("none").starts_with("no");
     },
     "ignored_modules has no effect",
     "parameters are not sharded: every rank holds all of them",
     "full_shard, or leave it out"},
    {"H21",
     Severity::kNote,
     {"fsdp_forward_prefetch", "fsdp_config", "fsdp", "fsdp_sharding_strategy"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return sharding.forward_prefetch.value_or(false) && !gathers_forward(sharding);
     },
     "forward_prefetch has no effect",
     "no parameter is gathered on the way forward: only full_shard and hybrid_shard free them behind it",
     "leave it out"},
};

// Replaces {flag} by the flag's value.
std::string filled(std::string_view text, const ParseOutcome& outcome) {
  std::string result;
  while (true) {
    const size_t open = text.find('{');
    const size_t close = text.find('}', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return result.append(text);
    result.append(text.substr(0, open));
    const Flag& flag = flag_table().named(text.substr(open + 1, close - open - 1));
    const Json value = flag.slot.get(outcome.arguments);
    result += value.is_string() ? value.get<std::string>() : to_yaml(value);
    text.remove_prefix(close + 1);
  }
}

std::string places(const Rule& rule, const Origins& origins) {
  std::vector<std::string> parts;
  for (const std::string_view flag : rule.flags) {
    if (origins.is_given(std::string(flag))) parts.push_back(origins.describe(std::string(flag)));
  }
  // Nobody gave any of them: the place is where they could be.
  return parts.empty() ? "command line and configuration files" : join(parts, ", ");
}

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

void check_rules(ParseOutcome& outcome, bool names_known, Diagnostics& problems) {
  for (const Rule& rule : kRules) {
    if ((rule.about_missing && !names_known) || !rule.broken(outcome)) continue;
    Diagnostic diagnostic{
        .severity = rule.severity,
        .what = filled(rule.what, outcome),
        .where = places(rule, outcome.origins),
        .why = rule.why.empty() ? values_of(rule.flags, outcome) : filled(rule.why, outcome),
        .hint = std::string(rule.fix)};
    if (diagnostic.hint.empty()) diagnostic.hint = explain(std::string(rule.flags.front()));
    (rule.severity == Severity::kError ? problems : outcome.notes).push_back(std::move(diagnostic));
  }
}

}  // namespace hftrain::arguments
