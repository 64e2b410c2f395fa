// Intervals of logging, evaluation and saving, and the best model that goes by them.
#include <cmath>
#include <string>

#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"

namespace hftrain::arguments {
namespace {

bool best_at_end(Outcome o) {
  return o.arguments.saving.load_best_model_at_end.value_or(false);
}

// Strategy steps with an interval that is not one. Unset and 0 of eval_steps were replaced before.
bool no_interval(const std::string& strategy, double steps) {
  return strategy == "steps" && steps <= 0;
}

// save_steps must be a multiple of eval_steps; shares are compared in millionths, because 0.3 is no multiple
// of 0.1. None, which saves nothing, is a multiple of all.
bool not_a_multiple(double save, double eval) {
  if (save == 0) return false;
  if (save < 1 || eval < 1) {
    if (save >= 1 || eval >= 1) return true;
    constexpr double kMillion = 1e6;
    return std::fmod(std::round(save * kMillion), std::round(eval * kMillion)) != 0;
  }
  return std::fmod(save, eval) != 0;
}

const Rule kIntervalRules[] = {
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
     "--save_steps a multiple of eval_steps, or --save_strategy best"},
    {"12",
     Severity::kWarning,
     {"load_best_model_at_end", "eval_strategy"},
     [](Outcome o) {
       const std::string& save = o.arguments.saving.save_strategy;
       return best_at_end(o) && o.arguments.evaluation.eval_strategy == "no" &&
              (save == "best" || save == "no");
     },
     "load_best_model_at_end learns of no best model: the run ends with its last one",
     "eval_strategy is no",
     "--eval_strategy steps or epoch"},
    {"13",
     Severity::kWarning,
     {"load_best_model_at_end", "save_steps"},
     [](Outcome o) {
       return best_at_end(o) && o.arguments.evaluation.eval_strategy == "steps" &&
              o.arguments.saving.save_strategy == "steps" && o.arguments.saving.save_steps == 0;
     },
     "load_best_model_at_end finds the last checkpoint alone: the run ends with that model",
     "save_steps is 0",
     "--save_steps a multiple of eval_steps, or --save_strategy best"},
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
     Severity::kWarning,
     {"save_strategy", "eval_strategy"},
     [](Outcome o) {
       // Rule 12 tells it otherwise.
       return o.arguments.saving.save_strategy == "best" && !best_at_end(o) &&
              o.arguments.evaluation.eval_strategy == "no";
     },
     "save_strategy best writes no checkpoint, only the model of the end",
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
    {"H3",
     Severity::kError,
     {"early_stopping_patience", "metric_for_best_model"},
     [](Outcome o) {
       return o.arguments.saving.early_stopping_patience && !o.arguments.saving.metric_for_best_model;
     },
     "early_stopping_patience needs metric_for_best_model",
     "nothing says which metric is to become better",
     "--metric_for_best_model loss, or --load_best_model_at_end, whose metric is the loss"},
    {"H3",
     Severity::kWarning,
     {"early_stopping_patience", "load_best_model_at_end"},
     [](Outcome o) {
       return o.arguments.saving.early_stopping_patience &&
              !o.arguments.saving.load_best_model_at_end.value_or(false);
     },
     "a run that stops early ends with its last model, not its best",
     "load_best_model_at_end is false",
     "--load_best_model_at_end"},
};

}  // namespace

std::span<const Rule> interval_rules() {
  return kIntervalRules;
}

}  // namespace hftrain::arguments
