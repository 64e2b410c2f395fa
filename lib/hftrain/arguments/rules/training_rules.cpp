// Precision, schedules, batches, checkpointing: how a run trains.
#include "hftrain/arguments/rules/conditions.h"
#include "hftrain/arguments/rules/rule_groups.h"

namespace hftrain::arguments {
namespace {

bool is(Outcome o, const char* unread_flag, const Json& value) {
  const auto found = o.unread.find(unread_flag);
  return found != o.unread.end() && found->second == value;
}

bool asked_for(Outcome o, const char* unread_flag) {
  const auto found = o.unread.find(unread_flag);
  return found != o.unread.end() && !found->second.empty() && found->second != Json::array({"false"});
}

// Of the Trainer's FSDP; accelerate launch has a flag of that name today.
bool is_old_fsdp(Outcome o, const char* flag) {
  return chosen(o, flag) && !is(o, flag, flag_table().named(flag).default_value()) &&
         !is(o, "use_fsdp", true);
}

const Rule kTrainingRules[] = {
    {"5",
     Severity::kWarning,
     {"fsdp_min_num_params"},
     [](Outcome o) { return is_old_fsdp(o, "fsdp_min_num_params"); },
     "--fsdp_min_num_params is an old name",
     "",
     R"(use --fsdp_config '{"min_num_params": N}')"},
    {"5",
     Severity::kWarning,
     {"fsdp_transformer_layer_cls_to_wrap"},
     [](Outcome o) { return is_old_fsdp(o, "fsdp_transformer_layer_cls_to_wrap"); },
     "--fsdp_transformer_layer_cls_to_wrap is an old name",
     "",
     R"(use --fsdp_config '{"transformer_layer_cls_to_wrap": "CLASS"}')"},
    {"5",
     Severity::kWarning,
     {"push_to_hub_organization"},
     [](Outcome o) { return o.arguments.hub.push_to_hub && chosen(o, "push_to_hub_organization"); },
     "--push_to_hub_organization is an old name",
     "",
     "use --hub_model_id ORGANIZATION/NAME"},
    {"H22",
     Severity::kWarning,
     {"do_train"},
     [](Outcome o) { return training(o) && !o.arguments.run.do_train && chosen(o, "do_train"); },
     "--do_train false alone has no effect: the run trains",
     "neither evaluation nor prediction is asked for",
     "--do_eval or --do_predict, which leave training out"},
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
       const Json least = options.value("min_lr", Json(1e-3));  // a text where a mistake was told
       return o.arguments.schedule.lr_scheduler_type == "greedy" && least.is_number() &&
              least > o.arguments.optimizer.learning_rate;
     },
     "the schedule greedy will never lower learning_rate {learning_rate}",
     "its min_lr (default 0.001) is larger",
     "min_lr in lr_scheduler_kwargs"},
    {"49",
     Severity::kWarning,
     {"gradient_checkpointing", "fsdp"},
     [](Outcome o) {
       return o.arguments.precision.gradient_checkpointing && asked_for(o, "fsdp") &&
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
       return o.arguments.saving.save_only_model && sharding.state_dict.value_or("full") != "full";
     },
     "save_only_model and a state_dict_type in parts exclude each other",
     "sharded weights alone are not a model that opens elsewhere",
     "FULL_STATE_DICT, or without save_only_model"},
};

}  // namespace

std::span<const Rule> training_rules() {
  return kTrainingRules;
}

}  // namespace hftrain::arguments
