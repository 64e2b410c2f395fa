// What was given, and has no effect beside the other arguments; what is about updates, evaluations and trackers is in
// loop_effect_rules.cpp.
#include <algorithm>
#include <iterator>
#include <string>

#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"

namespace hftrain::arguments {
namespace {

// Schedules that take no warm-up from warmup_steps.
bool warms_up(const std::string& schedule) {
  return schedule != "constant" && schedule != "reduce_lr_on_plateau" && schedule != "greedy" &&
         schedule != "LRRangeTest" && schedule != "OneCycle";
}

bool shards(const ParallelOptions& sharding) {
  return !sharding.strategy.value_or("none").starts_with("no");
}

// Strategies that free parameters behind a unit's forward pass, so that they are gathered again.
bool gathers_twice(const ParallelOptions& sharding) {
  return shards(sharding) && sharding.strategy.value->ends_with("_shard");
}

// As plan::looks_at_lengths(); a stream says what it has no use for.
bool looks_at_lengths(const DataArguments& data) {
  return data.sortish_sampler || data.train_sampling_strategy == "group_by_length" ||
         data.train_sampling_strategy == "batch_rebalance" || data.streaming;
}

// Packing cuts what is longer than a sequence by a rule of its own.
bool cuts_samples(Outcome o) {
  const InstructionArguments& asked = o.arguments.instructions;
  const bool judges = evaluating(o) || o.arguments.run.do_predict;
  return asked.max_length &&
         ((training(o) && !asked.packing) || (judges && !asked.eval_packing.value_or(asked.packing)));
}

constexpr const char* kOfPushing[] = {"hub_model_id",
                                      "hub_strategy",
                                      "hub_token",
                                      "hub_private_repo",
                                      "hub_revision",
                                      "hub_always_push",
                                      "push_to_hub_organization"};

const Rule kEffectRules[] = {
    {"H21",
     Severity::kNote,
     {"push_to_hub", "hub_model_id", "hub_strategy", "hub_token", "hub_private_repo", "hub_revision",
      "hub_always_push", "push_to_hub_organization"},
     [](Outcome o) {
       return !o.arguments.hub.push_to_hub && std::any_of(std::begin(kOfPushing), std::end(kOfPushing),
                                                          [&](const char* flag) { return chosen(o, flag); });
     },
     "options of pushing have no effect",
     "nothing is pushed",
     "--push_to_hub, or leave them out"},
    {"H21",
     Severity::kWarning,
     {"resume_from_checkpoint", "do_train"},
     [](Outcome o) {
       return !training(o) && chosen(o, "resume_from_checkpoint") &&
              o.arguments.saving.resume_from_checkpoint;
     },
     "resume_from_checkpoint has no effect",
     "nothing is trained",
     "--model_name_or_path CHECKPOINT to evaluate its model"},
    {"H21",
     Severity::kNote,
     {"overwrite_output_dir", "do_train"},
     [](Outcome o) {
       return !training(o) && chosen(o, "overwrite_output_dir") && o.arguments.output.overwrite_output_dir;
     },
     "overwrite_output_dir has no effect",
     "nothing is trained: results go beside what is there",
     "another --output_dir, or leave it out"},
    {"H21",
     Severity::kNote,
     {"test_file", "max_predict_samples", "do_predict"},
     [](Outcome o) {
       // With data_dir the files of all sets are named at once.
       const bool named = chosen(o, "test_file") && !o.arguments.data.data_dir;
       return !o.arguments.run.do_predict && (named || chosen(o, "max_predict_samples"));
     },
     "test data have no effect",
     "nothing is predicted",
     "--do_predict, or leave them out"},
    {"H21",
     Severity::kNote,
     {"length_column_name", "train_sampling_strategy"},
     [](Outcome o) { return chosen(o, "length_column_name") && !looks_at_lengths(o.arguments.data); },
     "length_column_name has no effect",
     "train_sampling_strategy {train_sampling_strategy} looks at no lengths",
     "--train_sampling_strategy group_by_length, or leave it out"},
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
     {"truncation_mode", "packing", "max_length"},
     [](Outcome o) { return chosen(o, "truncation_mode") && !cuts_samples(o); },
     "truncation_mode has no effect",
     "it cuts samples that are not packed, where max_length is not null",
     "leave it out"},
    {"H21",
     Severity::kNote,
     {"eval_packing", "eval_strategy", "do_eval"},
     [](Outcome o) { return chosen(o, "eval_packing") && !evaluating(o); },
     "eval_packing has no effect",
     "nothing is evaluated",
     "--do_eval, or --eval_strategy steps or epoch"},
    {"H21",
     Severity::kNote,
     {"token", "push_to_hub"},
     [](Outcome o) { return o.arguments.hub.token.has_value() && !o.arguments.hub.push_to_hub; },
     "token has no effect",
     "nothing is pushed, and models and data are read from the local cache",
     "HF_TOKEN=… hftrain fetch NAME, which fills it"},
    {"H21",
     Severity::kNote,
     {"use_auth_token", "push_to_hub"},
     [](Outcome o) { return o.arguments.hub.use_auth_token && !o.arguments.hub.push_to_hub; },
     "use_auth_token has no effect",
     "nothing is pushed, and models and data are read from the local cache",
     "hftrain fetch NAME, which fills it and takes the stored token"},
    {"H21",
     Severity::kWarning,
     {"fsdp_ignored_modules", "fsdp_config", "fsdp", "fsdp_sharding_strategy"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return sharding.ignored_modules && !shards(sharding);
     },
     "ignored_modules has no effect",
     "parameters are not sharded: every rank holds all of them",
     "full_shard, or leave it out"},
    {"H21",
     Severity::kNote,
     {"fsdp_forward_prefetch", "fsdp_config", "fsdp", "fsdp_sharding_strategy"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return sharding.forward_prefetch.value_or(false) && !shards(sharding);
     },
     "forward_prefetch has no effect",
     "parameters are not sharded: none is gathered",
     "leave it out"},
    {"H21",
     Severity::kNote,
     {"fsdp_backward_prefetch", "fsdp_config", "fsdp", "fsdp_sharding_strategy"},
     [](Outcome o) {
       const ParallelOptions& sharding = o.arguments.parallel.sharding;
       return sharding.backward_prefetch.value_or("pre") != "pre" && !gathers_twice(sharding);
     },
     "backward_prefetch has no effect",
     "no parameter is gathered on the way back: only full_shard and hybrid_shard free them behind the "
     "forward "
     "pass",
     "leave it out"},
};

}  // namespace

std::span<const Rule> effect_rules() {
  return kEffectRules;
}

}  // namespace hftrain::arguments
