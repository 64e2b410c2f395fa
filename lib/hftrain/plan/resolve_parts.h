// The parts of resolve(), in the order in which it calls them. Each fills its part of the plan from the input
// and the parts before it, and adds what it must refuse.
#pragma once

#include <string>
#include <utility>

#include "hftrain/plan/optimizer_memory.h"
#include "hftrain/plan/problems.h"
#include "hftrain/plan/resolve.h"

namespace hftrain::plan {

// What a part tells the user, without a place: it follows from several settings.
inline Diagnostic note(std::string what, std::string why = "", std::string hint = "") {
  return {Diagnostic::Severity::kNote, std::move(what), "", std::move(why), std::move(hint)};
}
inline Diagnostic warning(std::string what, std::string why = "", std::string hint = "") {
  return {Diagnostic::Severity::kWarning, std::move(what), "", std::move(why), std::move(hint)};
}

// The place of a value of ParallelOptions: a flag has its own name as origin; a file its place.
inline std::string where(const std::string& origin) {
  return origin.starts_with("-") ? origin + " (command line)" : origin;
}

// resolve_ranks.cpp
RanksPlan resolve_ranks(const ResolveInput& input, Problems& problems);
// What the user should know of the GPUs that ranks may use.
std::vector<Diagnostic> gpu_notes(const ResolveInput& input);
// What the agent that starts a rank reported of its machine.
const Topology& topology_of(const ResolveInput& input, const RankPlan& rank);
// Cores that all agents of the first machine may use together.
int cores_of_first_machine(const ResolveInput& input);

// binding_notes.cpp
// Ranks whose front programs were bound to fewer cores than their machine has, and those bound to the same.
void note_binding(const ResolveInput& input, const RanksPlan& plan, std::vector<Diagnostic>& notes);

// resume_notes.cpp
// What is different about a run that goes on from a checkpoint.
void note_resume(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);
// An optimizer, and a schedule, that cannot go on from that of the checkpoint; the latter after resolve_schedule.
void check_resumed_optimizer(const ResolveInput& input, const RunPlan& plan, Problems& problems);
void check_resumed_schedule(const ResolveInput& input, const RunPlan& plan, Problems& problems);

// resolve_strategy.cpp
StrategyPlan resolve_strategy(const ResolveInput& input, const RanksPlan& ranks, Problems& problems);
// DDP where updates use other parameters, as the model drops layers; after resolve_batch.
void check_dropped_layers(const ResolveInput& input, const RunPlan& plan, Problems& problems);
// What the user should know of the strategy.
std::vector<Diagnostic> strategy_notes(const ResolveInput& input, const RunPlan& plan);

// resolve_model.cpp
PrecisionPlan resolve_precision(const ResolveInput& input, const RanksPlan& ranks, Problems& problems);
ModelPlan resolve_model(const ResolveInput& input, const RanksPlan& ranks, Problems& problems);
// What the user should know of the operators that run.
std::vector<Diagnostic> kernel_notes(const ResolveInput& input, const RunPlan& plan);

// resolve_deepspeed.cpp: what only a DeepSpeed file says
LossScalePlan resolve_loss_scale(const ResolveInput& input);
// Fills what follows from train_batch_size, which counts `copies` times per_device_train, and checks the
// product.
void fit_train_batch_size(const ResolveInput& input, int64_t copies, BatchPlan& batch, Problems& problems);
// total_num_steps and warmup_num_steps against the run's; after resolve_steps and resolve_schedule.
void check_schedule_lengths(const ResolveInput& input, const RunPlan& plan, Problems& problems);

// resolve_data.cpp
// Of evaluated rows that drop_last leaves out: nobody would miss them in the means, and files of predictions lack their lines.
void note_dropped_rows(const RunPlan& plan, std::vector<Diagnostic>& notes);
// Flags that cannot act on training data that are streamed.
void note_stream(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);
DataPlan resolve_data(const ResolveInput& input, const RunPlan& plan, Problems& problems);
BatchPlan resolve_batch(const ResolveInput& input, const RunPlan& plan, Problems& problems);
StepsPlan resolve_steps(const ResolveInput& input, const RunPlan& plan);

// idle_flags.cpp
// What was given, and has no effect on this model, this task or this order of the data; what the arguments tell by
// themselves is in arguments/rules.
void note_idle_flags(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);

// label_notes.cpp
// A model whose labels are not those of the data.
void note_labels(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);

// resolve_training.cpp: these read plan.steps
OptimizerPlan resolve_optimizer(const ResolveInput& input);
// Numbers have no probability to spread.
void check_label_smoothing(const ResolveInput& input, const architectures::Architecture& architecture,
                           Problems& problems);
// Evaluation gives more than the loss, as far as the task's own metrics go.
bool gives_metrics(const ResolveInput& input);
// Rule 56, and answers: the plan's optimizer smooths nothing.
void note_label_smoothing(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);
// What --hf_compat does not bring back.
void note_padded_samples(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);
SchedulePlan resolve_schedule(const ResolveInput& input, const RunPlan& plan);
// Whether a schedule is a base rate times a function of the step, and so goes on where another of these stopped.
bool goes_by_steps(const std::string& schedule);
// A momentum of OneCycle that decays too far; after resolve_schedule.
void check_momentum(const ResolveInput& input, const RunPlan& plan, Problems& problems);
ProfilePlan resolve_profile(const ResolveInput& input, const RunPlan& plan, Problems& problems);
LoggingPlan resolve_logging(const ResolveInput& input, const RunPlan& plan, Problems& problems);
EvaluationPlan resolve_evaluation(const ResolveInput& input, const RunPlan& plan, Problems& problems);
SavingPlan resolve_saving(const ResolveInput& input, const RunPlan& plan);

// trainer_checkpoints.cpp
// Runs whose state transformers' Trainer has no form for; after resolve_saving.
void check_for_trainer(const ResolveInput& input, const RunPlan& plan, Problems& problems);

// resolve_generation.cpp
// How evaluation writes texts: the generation config that is saved, with what the flags say; null unless it `writes`.
// A config that was named and cannot be followed is refused in any case. After resolve_model.
Json resolve_generation(const ResolveInput& input, const RunPlan& plan, bool writes, Problems& problems);
// Keys of the config that evaluation writes texts by, and that nobody reads; after resolve_evaluation.
void note_generation(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);

// budget.cpp
// `widens_bfloat16`: of any machine whose processors compute (HostResources).
MemoryPlan estimate_memory(const architectures::Architecture& architecture, const RunPlan& plan,
                           bool widens_bfloat16);
DiskPlan estimate_disk(const architectures::Architecture& architecture, const RunPlan& plan,
                       std::optional<uint64_t> free_bytes);
void check_budget(const ResolveInput& input, const RunPlan& plan, Problems& problems);

// The positions that samples may have: some families count them from the padding token's number on, and that is the
// tokenizer's. Throws an Error (kData) for a tokenizer whose ids do not suit the model.
int64_t usable_positions(const ModelFacts& model);
// Of a model with bounded_positions().
std::string why_bounded(const architectures::Architecture& model);
// The architecture that runs: the model's, with the tokenizer's special ids and the labels that the data have, and with as many embeddings as the
// tokenizer and, where they may be added, the samples' positions need.
std::shared_ptr<const architectures::Architecture> running_architecture(const ResolveInput& input);

// resolve_adapter.cpp
// The adapter of the architecture that runs; nothing without one.
std::optional<architectures::AdapterSpec> adapter_spec(const ResolveInput& input);
std::optional<AdapterPlan> resolve_adapter(const ResolveInput& input,
                                           const architectures::Architecture& running, Problems& problems);
// How much is trained, and flags of adapters where there is none.
void note_adapter(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes);

// resolve_opening.cpp: how the model that runs differs from the one that is loaded
// The positions that the model gets because samples are longer than it reaches; 0: none are added.
int64_t added_positions(const ResolveInput& input);
// Parameters of `running` that have more rows than those of `loaded`.
std::vector<GrownParameter> grown_parameters(const architectures::Architecture& loaded,
                                             const architectures::Architecture& running);
// Positions of the parameters that are not trained.
std::vector<int> frozen_parameters(const ResolveInput& input, const architectures::Architecture& running,
                                   Problems& problems);
// What the user should know of all that.
std::vector<Diagnostic> opening_notes(const ResolveInput& input, const RunPlan& plan);

inline bool recomputes_activations(const arguments::Arguments& arguments) {
  return arguments.precision.gradient_checkpointing ||
         arguments.parallel.sharding.activation_checkpointing.value_or(false);
}

inline bool on_gpu(const RanksPlan& ranks) {
  return ranks.ranks.front().device == DeviceKind::kCuda;
}

// Of a rank that is expected to need more than its memory; those on CPUs share that of their machine.
inline std::string way_to_need_less(const RanksPlan& ranks) {
  const bool share = !on_gpu(ranks) && ranks.ranks_on_machine > 1;
  return std::string("a smaller --per_device_train_batch_size, ") +
         (share ? "--gradient_checkpointing, or fewer ranks on a machine" : "or --gradient_checkpointing");
}

}  // namespace hftrain::plan
