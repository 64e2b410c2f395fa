// What is different about a run that goes on from a checkpoint (compare_trainer_and_checkpoint_args of transformers, and more).
#include <algorithm>
#include <iterator>
#include <string_view>

#include "hftrain/base/text.h"
#include "hftrain/plan/optimizer_memory.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/tasks/padded_sequences.h"

namespace hftrain::plan {
namespace {

constexpr std::string_view kOwn = "own";  // of a program: no flag has that word

// A run that goes on with another number of ranks.
void note_ranks(const SavedRun& saved, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (saved.world_size == plan.ranks.world_size || saved.global_train == 0) return;
  const BatchPlan& batch = plan.batch;
  const std::string ranks = "the run goes on with " + std::to_string(plan.ranks.world_size) + " rank" +
                            (plan.ranks.world_size == 1 ? "" : "s") + " instead of " +
                            std::to_string(saved.world_size);
  const std::string arithmetic = std::to_string(batch.per_device_train) + " per rank, accumulated " +
                                 std::to_string(batch.accumulation_steps) + " times";
  if (batch.global_train == saved.global_train) {
    notes.push_back(
        note(ranks + " and keeps its global batch of " + std::to_string(saved.global_train), arithmetic));
    return;
  }
  const int64_t round = batch.global_train / batch.accumulation_steps;
  const bool fits = saved.global_train % round == 0;
  notes.push_back(warning(
      ranks + " and a global batch of " + std::to_string(batch.global_train) + " instead of " +
          std::to_string(saved.global_train),
      arithmetic + (fits ? "" : ": no number of times makes " + std::to_string(saved.global_train)),
      fits ? "--gradient_accumulation_steps " + std::to_string(saved.global_train / round) + " keeps it"
           : "a --per_device_train_batch_size that divides it by the ranks keeps it, where there is one"));
}

// The Trainer compares these with its trainer_state.json, where intervals are always in updates.
void note_settings(const SavedRun& saved, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  std::map<std::string, int64_t> present = {{"logging_steps", plan.logging.interval.recorded_steps()},
                                            {"eval_steps", plan.evaluation.interval.recorded_steps()},
                                            {"save_steps", plan.saving.interval.recorded_steps()}};
  // With other ranks the batch has been spoken of, where it is known. One process that had several GPUs wrote what they
  // had together.
  const auto written = saved.settings.find("per_device_train_batch_size");
  const bool together = saved.global_train == 0 && saved.world_size == 1 && written != saved.settings.end() &&
                        written->second == plan.batch.per_device_train * plan.ranks.world_size;
  if (!together && (saved.world_size == plan.ranks.world_size || saved.global_train == 0))
    present["per_device_train_batch_size"] = plan.batch.per_device_train;
  std::vector<std::string> different;
  for (const auto& [name, value] : present) {
    const auto before = saved.settings.find(name);
    if (before != saved.settings.end() && before->second != value)
      different.push_back(name + ' ' + std::to_string(value) + " instead of " +
                          std::to_string(before->second));
  }
  if (different.empty()) return;
  notes.push_back(warning(
      "the run goes on with other settings than its checkpoint was saved with: " + join(different, ", "),
      "trainer_state.json of the checkpoint",
      "give the earlier values where the run is to be the same as one that never stopped"));
}

void note_version(const SavedRun& saved, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const std::string own = plan.model.config.value("transformers_version", std::string());
  if (saved.transformers_version.empty() || saved.transformers_version == own) return;
  notes.push_back(warning("the checkpoint's config.json is of transformers " + saved.transformers_version +
                              ", and this run writes that of " + own,
                          "another version may read a key of it differently",
                          "go on only where the model's configuration is known to be the same"));
}

// Some tasks leave types of tokens out in any case. One whose columns go by its data, which are not there yet, pads as all sequences do.
bool would_give_types(const ResolveInput& input) {
  const tasks::TaskRow& task = task_row(input.parsed);
  const tasks::TaskInput facts = task_input(input.parsed, input.model);
  if (task.config_changes != nullptr && input.data.of_task.is_null()) return tasks::gives_types(facts);
  DataPlan anew;
  anew.padding = task.padding(facts, input.data.of_task);
  return anew.gives_token_types();
}

// Up to transformers 4.57 tokenizers gave them whatever their class.
void note_types(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!input.saved->token_types || plan.data.padding.columns.empty()) return;
  const bool given = plan.data.gives_token_types();
  if (given == would_give_types(input)) return;
  notes.push_back(
      note(std::string("the run goes on ") + (given ? "with" : "without") +
               " types of tokens, as its checkpoint was trained",
           std::string("a new run would begin ") + (given ? "without" : "with") +
               " them: tokenizer_config.json decides, and before transformers 5 (--hf_compat) every "
               "tokenizer gave them unless that said otherwise"));
}

// Whether a program brings an optimizer or a schedule of its own in the place of the flag's, only its ranks know.
bool goes_by_flags(const ResolveInput& input, const RunPlan& plan) {
  return plan.do_train && input.saved && !input.parsed.arguments.launch.worker_program;
}

// Optimizers that compute the same have several names, of which this is one.
std::string_view rule_of(std::string_view optimizer) {
  return optimizer == "adamw_torch" || optimizer == "adamw_hf" ? "adamw_torch_fused" : optimizer;
}

// Where it is another one: of those two, which keep the same of a gradient, what the other one does with it.
bool takes_its_moments(std::string_view before, std::string_view now) {
  return (before == "adam" && now == "adamw_torch_fused") || (before == "adamw_torch_fused" && now == "adam");
}

bool has_other_optimizer(const ResolveInput& input, const RunPlan& plan) {
  return goes_by_flags(input, plan) && !input.saved->optimizer.empty() &&
         rule_of(input.saved->optimizer) != rule_of(plan.optimizer.name);
}

std::string told(const std::map<std::string, std::string>& options) {
  std::vector<std::string> words;
  for (const auto& [name, value] : options) words.push_back(name + '=' + value);
  return words.empty() ? "none" : join(words, ",");
}

// Of the same optimizer: some of them say what it keeps.
void note_options(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!goes_by_flags(input, plan) || input.saved->optimizer.empty()) return;
  const auto& before = input.saved->optimizer_options;
  if (!before || *before == plan.optimizer.options) return;
  notes.push_back(warning("the run goes on with other options of " + plan.optimizer.name + ": " +
                              told(plan.optimizer.options) + " instead of " + told(*before),
                          "this run's decide, where torch's optimizers go on with those of their checkpoint",
                          (before->empty() ? "no --optim_args" : "--optim_args " + told(*before)) +
                              " where the run is to be the same"));
}

void note_optimizer(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!has_other_optimizer(input, plan)) return note_options(input, plan, notes);
  notes.push_back(warning(
      "the run goes on with the optimizer " + plan.optimizer.name + " instead of " + input.saved->optimizer,
      "it takes the moments of the gradients from the checkpoint",
      "--optim " + input.saved->optimizer + " where the run is to be the same"));
}

bool has_other_schedule(const ResolveInput& input, const RunPlan& plan) {
  return goes_by_flags(input, plan) && !input.saved->schedule.empty() &&
         input.saved->schedule != plan.schedule.name;
}

void note_schedule(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!has_other_schedule(input, plan)) return;
  notes.push_back(warning(
      "the run goes on with the schedule " + plan.schedule.name + " instead of " + input.saved->schedule,
      "it takes the updates that were made and the rate that the run began with from the checkpoint",
      (input.saved->schedule == kOwn ? "the program that the checkpoint is from"
                                     : "--lr_scheduler_type " + input.saved->schedule) +
          " where the run is to be the same"));
}

std::vector<std::string> without(const std::vector<std::string>& states,
                                 const std::vector<std::string>& others) {
  std::vector<std::string> left;
  std::set_difference(states.begin(), states.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

// Of the same optimizer: torch would go on with the options that the checkpoint was made with.
void check_kept_states(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!goes_by_flags(input, plan) || !input.saved->options_are_its_own) return;
  OptimizerPlan before = plan.optimizer;
  before.options = input.saved->optimizer_options.value_or(before.options);
  const std::vector<std::string> saved = states_by_options(before), own = states_by_options(plan.optimizer);
  if (saved == own) return;
  const std::vector<std::string> more = without(saved, own);
  problems.add(
      ExitCode::kData,
      {Diagnostic::Severity::kError,
       std::string("the checkpoint keeps ") + (more.empty() ? "less" : "more") +
           " of the optimizer than this run: " + join(more.empty() ? without(own, saved) : more, ", "),
       input.parsed.origins.describe("optim_args"),
       "options of " + plan.optimizer.name + " here: " + told(plan.optimizer.options) +
           "; there: " + told(before.options),
       (before.options.empty() ? "leave --optim_args out" : "--optim_args " + told(before.options)) +
           ", or a new run in another --output_dir, from these weights with --model_name_or_path"});
}

}  // namespace

void check_resumed_optimizer(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!has_other_optimizer(input, plan)) return check_kept_states(input, plan, problems);
  const std::string &before = input.saved->optimizer, &now = plan.optimizer.name;
  if (takes_its_moments(rule_of(before), rule_of(now))) return;
  problems.usage("the saved optimizer is \"" + before + "\", this run's is \"" + now + "\"",
                 input.parsed.origins.describe("optim"),
                 "what one of them keeps of the gradients is nothing that the other could go on with",
                 (before == kOwn ? "the program that the checkpoint is from" : "--optim " + before) +
                     ", or a new run in another --output_dir, from these weights with --model_name_or_path");
}

void check_resumed_schedule(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  if (!has_other_schedule(input, plan)) return;
  const std::string &before = input.saved->schedule, &now = plan.schedule.name;
  const bool own = before == kOwn;  // a factor of the step, too
  if ((own || goes_by_steps(before)) && goes_by_steps(now)) return;
  problems.usage("the saved schedule is \"" + before + "\", this run's is \"" + now + "\"",
                 input.parsed.origins.describe("lr_scheduler_type"),
                 (own || goes_by_steps(before) ? now : before) +
                     " remembers other things than the number of updates and the rate at the beginning",
                 own ? "the program that the checkpoint is from" : "--lr_scheduler_type " + before);
}

void note_resume(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!plan.do_train || !input.saved) return;
  note_ranks(*input.saved, plan, notes);
  note_settings(*input.saved, plan, notes);
  note_version(*input.saved, plan, notes);
  note_optimizer(input, plan, notes);
  note_schedule(input, plan, notes);
  note_types(input, plan, notes);
}

}  // namespace hftrain::plan
