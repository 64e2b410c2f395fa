// What was given of updates, intervals, evaluations and trackers, and has no effect beside the other arguments.
#include <algorithm>
#include <string>

#include "hftrain/arguments/option_keys.h"
#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"

namespace hftrain::arguments {
namespace {

bool reports_to(Outcome o, const char* tracker) {
  return std::ranges::find(o.arguments.logging.report_to, tracker) != o.arguments.logging.report_to.end();
}

// Optimizers that keep no means by adam_beta1 and adam_beta2.
bool without_betas(const std::string& optim) {
  return optim == "sgd" || optim == "adagrad" || optim == "rmsprop" || optim == "adafactor";
}

// Those read eps of optim_args, if any; a sign is divided by nothing.
bool without_epsilon(const std::string& optim) {
  return without_betas(optim) || optim == "lion_32bit";
}

// A DeepSpeed file's optimizer has it for its eps, as "auto" or as an equal number.
bool stands_for_epsilon(const Arguments& arguments) {
  const std::optional<DeepSpeedOptions>& file = arguments.parallel.deepspeed;
  const auto is_epsilon = [](const auto& pair) { return pair.first == "eps"; };
  return file && file->has_optimizer &&
         std::ranges::any_of(option_pairs(arguments.optimizer.optim_args.value_or("")), is_epsilon);
}

// With data_dir the files of all sets are named at once.
bool names_validation_data(Outcome o) {
  return (chosen(o, "validation_file") && !o.arguments.data.data_dir) || chosen(o, "validation_dir");
}

const Rule kLoopEffectRules[] = {
    {"H21",
     Severity::kNote,
     {"profile_steps", "torch_empty_cache_steps", "do_train"},
     [](Outcome o) {
       return !training(o) && (chosen(o, "profile_steps") || chosen(o, "torch_empty_cache_steps"));
     },
     "what is asked of updates has no effect",
     "nothing is trained",
     "--do_train, or leave it out"},
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
     {"save_steps", "save_strategy"},
     [](Outcome o) {
       const SavingArguments& saving = o.arguments.saving;
       return chosen(o, "save_steps") && saving.save_steps > 0 && saving.save_strategy != "steps";
     },
     "save_steps has no effect",
     "save_strategy is {save_strategy}",
     "--save_strategy steps"},
    {"H21",
     Severity::kNote,
     {"logging_steps", "logging_strategy"},
     [](Outcome o) {
       const LoggingArguments& logging = o.arguments.logging;
       // Evaluations may go by it, where nothing else says how often.
       const bool of_evaluation = o.arguments.evaluation.eval_strategy == "steps" &&
                                  o.arguments.evaluation.eval_steps == logging.logging_steps;
       return chosen(o, "logging_steps") && logging.logging_steps > 0 &&
              logging.logging_strategy != "steps" && !of_evaluation;
     },
     "logging_steps has no effect",
     "logging_strategy is {logging_strategy}",
     "--logging_strategy steps"},
    {"H21",
     Severity::kWarning,
     {"adam_beta1", "adam_beta2", "optim"},
     [](Outcome o) {
       return (chosen(o, "adam_beta1") || chosen(o, "adam_beta2")) &&
              without_betas(o.arguments.optimizer.optim);
     },
     "adam_beta1 and adam_beta2 have no effect",
     "optim {optim} keeps no means that they are of",
     "an optimizer of the Adam family, or leave them out"},
    {"H21",
     Severity::kWarning,
     {"adam_epsilon", "optim"},
     [](Outcome o) {
       return chosen(o, "adam_epsilon") && without_epsilon(o.arguments.optimizer.optim) &&
              !stands_for_epsilon(o.arguments);
     },
     "adam_epsilon has no effect",
     "optim {optim} does not read it",
     "an optimizer of the Adam family, or leave it out"},
    {"H21",
     Severity::kNote,
     {"validation_file", "validation_dir", "max_eval_samples", "eval_strategy", "do_eval"},
     [](Outcome o) {
       const bool judges = evaluating(o) || o.arguments.evaluation.eval_on_start;
       return !judges && (names_validation_data(o) || chosen(o, "max_eval_samples"));
     },
     "validation data have no effect",
     "nothing is evaluated",
     "--do_eval, or --eval_strategy steps or epoch, or leave them out"},
    {"H21",
     Severity::kWarning,
     {"predict_with_generate", "prediction_loss_only"},
     [](Outcome o) {
       const EvaluationArguments& evaluation = o.arguments.evaluation;
       return evaluation.predict_with_generate && evaluation.prediction_loss_only;
     },
     "predict_with_generate has no effect",
     "with prediction_loss_only evaluation gives the loss alone, and writes no text",
     "leave one of the two out"},
    {"H21",
     Severity::kWarning,
     {"include_for_metrics", "batch_eval_metrics", "prediction_loss_only"},
     [](Outcome o) {
       const EvaluationArguments& evaluation = o.arguments.evaluation;
       const bool asked = !evaluation.include_for_metrics.empty() || evaluation.batch_eval_metrics;
       return asked && evaluation.prediction_loss_only;
     },
     "what is asked of metrics has no effect",
     "with prediction_loss_only evaluation gives the loss alone",
     "leave one of the two out"},
    {"H21",
     Severity::kNote,
     {"logging_dir", "report_to"},
     [](Outcome o) {
       // A variable is of the machine, and files are of many runs.
       return o.origins.of("logging_dir").starts_with("--") && !reports_to(o, "tensorboard");
     },
     "logging_dir has no effect",
     "it is where TensorBoard's files go, and report_to does not name tensorboard",
     "--report_to tensorboard, or leave it out"},
    {"H21",
     Severity::kNote,
     {"project", "report_to"},
     [](Outcome o) { return chosen(o, "project") && !reports_to(o, "trackio"); },
     "project has no effect",
     "it is a project of Trackio, and report_to does not name trackio",
     "--report_to trackio, or leave it out"},
};

}  // namespace

std::span<const Rule> loop_effect_rules() {
  return kLoopEffectRules;
}

}  // namespace hftrain::arguments
