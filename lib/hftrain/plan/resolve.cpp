#include "hftrain/plan/resolve.h"

#include <algorithm>
#include <sstream>

#include "hftrain/arguments/compat.h"
#include "hftrain/arguments/smoke_variable.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/communication_variables.h"
#include "hftrain/plan/disk_check.h"
#include "hftrain/plan/expected_time.h"
#include "hftrain/plan/hub_cache.h"
#include "hftrain/plan/rank_memory.h"
#include "hftrain/plan/release_habits.h"
#include "hftrain/plan/requested_threads.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/smoke_ranks.h"
#include "hftrain/plan/special_tokens.h"
#include "hftrain/plan/tracker_variables.h"

namespace hftrain::plan {
namespace {

void note_threads(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const HostResources& host = input.topology.host;
  const int cores = cores_of_first_machine(input);
  if (host.requested_threads) {
    notes.push_back(note(host.threads_variable + '=' + std::to_string(*host.requested_threads) +
                         " sets the threads of a rank"));
  }
  for (const std::string& unread : unread_thread_counts(input.environment)) {
    notes.push_back(warning(unread + " has no effect", why_unread_threads(), kReadableThreads));
  }
  note_binding(input, plan.ranks, notes);
  const int wanted = plan.ranks.ranks.front().ranks_on_machine * plan.ranks.ranks.front().threads;
  if (wanted > cores) {
    notes.push_back(warning(std::to_string(wanted) + " threads share " + std::to_string(cores) +
                                (cores == 1 ? " core" : " cores"),
                            "ranks wait for each other, and a core that is taken away stops them all",
                            "fewer ranks (--nproc_per_node) or threads (OMP_NUM_THREADS)"));
  }
}

void note_cpu_ranks(const arguments::ParseOutcome& parsed, std::vector<Diagnostic>& notes) {
  const arguments::LaunchArguments& launch = parsed.arguments.launch;
  if (!launch.cpu_ranks || !launch.nproc_per_node) return;
  Diagnostic diagnostic = note("cpu_ranks " + std::to_string(*launch.cpu_ranks) + " has no effect",
                               "nproc_per_node is " + *launch.nproc_per_node);
  diagnostic.where = parsed.origins.describe("cpu_ranks");
  notes.push_back(std::move(diagnostic));
}

void note_communication(const Environment& environment, std::vector<Diagnostic>& notes) {
  std::vector<std::string> set;
  for (const auto& [name, value] : environment.variables()) {
    if (is_communication_variable(name)) set.push_back(name + '=' + value);
  }
  if (!set.empty())
    notes.push_back(note(join(set, ", ") + " of the environment " + (set.size() == 1 ? "goes" : "go") +
                         " to every rank"));
}

// Says of a variable of the environment, not of a file's `env:` or --gpu_ids, what it decides.
void note_variable(const ResolveInput& input, const std::string& name, const std::string& decides,
                   std::vector<Diagnostic>& notes) {
  const std::optional<std::string> value = input.environment.get(name);
  if (!value || input.parsed.exported_environment.count(name) > 0) return;
  notes.push_back(note(name + '=' + *value + " of the environment says " + decides));
}

void note_visible_gpus(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  const bool asked = !input.topology.devices.empty() && !input.parsed.arguments.device.use_cpu;
  if (!asked || input.elsewhere) return;
  note_variable(input, "CUDA_VISIBLE_DEVICES", "which GPUs there are", notes);
  note_variable(input, "CUDA_DEVICE_ORDER", "in which order the GPUs are counted", notes);
}

void note_folders(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  const std::optional<std::string>& named = input.parsed.arguments.model.cache_dir;
  const std::string hub = hub_cache_folder(named, input.environment) + "/models--";
  const bool from_hub =
      input.model.source_folder.starts_with(hub) || input.model.tokenizer_folder.starts_with(hub);
  const std::string variable = hub_cache_variable(input.environment);
  if (!named && from_hub && !variable.empty()) note_variable(input, variable, "where models lie", notes);
  const bool ours = !input.environment.get_or("HFTRAIN_CACHE", "").empty();
  const char* cache = ours ? "HFTRAIN_CACHE" : "XDG_CACHE_HOME";
  if (!input.environment.get_or(cache, "").empty())
    note_variable(input, cache, "where prepared data are kept", notes);
}

// Numbers of --log_ranks, or of --local_ranks_filter, that no rank has; the arguments module has seen that they are numbers.
void note_missing_ranks(const ResolveInput& input, const std::string& flag, const std::string& text,
                        const char* rank, int count, std::vector<Diagnostic>& notes) {
  if (text == "all" || text.empty()) return;
  std::vector<std::string> missing;
  for (const std::string& padded : split(text, ',')) {
    const std::string number = trim(padded);
    if (number.size() > 9 || std::stoi(number) >= count) missing.push_back(number);
  }
  if (missing.empty()) return;
  Diagnostic diagnostic =
      warning(flag + ": there is no " + rank + ' ' + join(missing, ", "),
              std::string("the run has ") +
                  (count == 1 ? std::string("one ") + rank + ", 0"
                              : std::string("the ") + rank + "s 0 to " + std::to_string(count - 1)),
              missing.size() == 1 ? "another number" : "other numbers");
  diagnostic.where = input.parsed.origins.describe(flag);
  notes.push_back(std::move(diagnostic));
}

int64_t rank_memory(const ResolveInput& input, const RanksPlan& ranks) {
  if (on_gpu(ranks)) return input.topology.visible.devices.front().device.free_bytes;
  return input.topology.host.available_bytes / ranks.ranks_on_machine;
}

void note_special_tokens(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const std::vector<std::string> changes = changed_special_tokens(input.model);
  if (!plan.do_train || changes.empty()) return;
  notes.push_back(warning("the tokenizer's special tokens differ from the model's: " + join(changes, ", "),
                          plan.model.generation_config.empty()
                              ? "the saved config.json gets the tokenizer's"
                              : "the saved config.json and generation_config.json get the tokenizer's"));
}

void note_tokenizer(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (!plan.do_train || input.model.tokenizer_opens_otherwise.empty()) return;
  notes.push_back({Diagnostic::Severity::kWarning, "transformers makes other tokens with the saved folder",
                   input.model.tokenizer_folder + "/tokenizer.json",
                   "its AutoTokenizer has a pipeline of its own for " + plan.model.model_type +
                       ", whatever tokenizer_class says, and " + input.model.tokenizer_opens_otherwise,
                   "open it there by PreTrainedTokenizerFast, or train with a tokenizer of such a model"});
}

void note_unheeded_settings(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  if (input.model.tokenizer_unheeded.empty()) return;
  // Of a family whose tokenizer transformers makes anew it reads no class.
  const auto architecture = running_architecture(input);
  const bool reads_class = architecture == nullptr || architecture->tokenizer_pattern().empty();
  notes.push_back(
      {Diagnostic::Severity::kWarning, "transformers makes other tokens of some texts with this tokenizer",
       input.model.tokenizer_folder + "/tokenizer_config.json",
       join(input.model.tokenizer_unheeded, "; ") + ". Here tokenizer.json alone decides",
       std::string("open it once in transformers and write it by save_pretrained: its tokenizer.json "
                   "then says the same") +
           (reads_class ? "; or, where its class builds another pipeline, write "
                          "\"tokenizer_class\": \"PreTrainedTokenizerFast\", which takes that of the file"
                        : "")});
}

// Files of other trainers go on the defaults of those.
void note_learning_rate(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const double peers = task_row(input.parsed).peers_learning_rate;
  if (peers == 0 || !plan.do_train || input.parsed.origins.is_chosen("learning_rate")) return;
  std::ostringstream text;
  text << "learning_rate is " << plan.optimizer.learning_rate
       << ", the Trainer's default; TRL's SFTConfig has " << peers;
  notes.push_back(note(text.str()));
}

// Here no norm decays.
void note_norms(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const auto architecture = running_architecture(input);
  if (!architecture->norms_were_unlisted() || !ReleaseHabits{plan.release}.decays_unlisted_norms() ||
      !plan.do_train || plan.optimizer.weight_decay == 0)
    return;
  notes.push_back({Diagnostic::Severity::kWarning, "norms do not decay, as in transformers of today",
                   input.parsed.origins.describe("hf_compat"),
                   "before, weight_decay was applied to the norms of " + architecture->model_type() + ", too",
                   "--weight_decay 0 in both, where numbers are compared with that release"});
}

// Of token files that others made, and of a tokenizer with more tokens than the model has.
void check_tokens(const ResolveInput& input, const architectures::Architecture& architecture,
                  Problems& problems) {
  const DataFacts& data = input.data;
  const int64_t vocabulary = architecture.vocab_size();
  const auto check = [&](const std::optional<SplitFacts>& split, const char* name) {
    if (vocabulary == 0 || !split || split->largest_token_id < vocabulary) return;
    problems.add(
        ExitCode::kData,
        {Diagnostic::Severity::kError,
         "the data have token " + std::to_string(split->largest_token_id) + ", which the model does not know",
         "the " + std::string(name) + " data",
         "its vocabulary has " + std::to_string(vocabulary) + " entries: tokens are 0 to " +
             std::to_string(vocabulary - 1),
         "data of the tokenizer that belongs to the model; or a larger vocab_size in --config_overrides "
         "for a model from scratch"});
  };
  for (const auto& [split, name] : splits_of(data)) check(*split, name);
}

void note_budget(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const bool gpu = on_gpu(plan.ranks);
  const int64_t memory = rank_memory(input, plan.ranks);
  const auto [needed, training] = expected_memory(plan);
  if (plan.do_train && memory > 0 && needed > memory) {
    notes.push_back(warning("a rank is expected to need " + format_bytes(static_cast<uint64_t>(needed)) +
                                ", and " + format_bytes(static_cast<uint64_t>(memory)) + " are free for it",
                            "", way_to_need_less(plan.ranks)));
  }
  const int64_t copies = background_copies(plan).machine, host = input.topology.host.available_bytes;
  if (gpu && plan.do_train && host > 0 && training > host) {
    notes.push_back(warning("the ranks of a machine are expected to need " +
                                format_bytes(static_cast<uint64_t>(training)) + " of host memory, and " +
                                format_bytes(static_cast<uint64_t>(host)) + " are free",
                            "", "fewer ranks on a machine, or less offload"));
  }
  if (copies > 0 && host > 0 && training <= host && training + copies > host) {
    notes.push_back(warning("saving in the background keeps " + format_bytes(static_cast<uint64_t>(copies)) +
                                " of host memory, and training is expected to leave " +
                                format_bytes(static_cast<uint64_t>(host - training)),
                            "", "leave --async_save out"));
  }
  if (const auto small = disk_too_small_for_all(plan)) notes.push_back(*small);
}

// Unset: when there is something to lose.
bool resolve_rehearsal(const ResolveInput& input, const RunPlan& plan) {
  constexpr double kWorthIt = 3600;
  return plan.do_train &&
         input.parsed.arguments.saving.rehearse.value_or(plan.steps.expected_seconds > kWorthIt);
}

// The folder of the flag --chat_template_path brings its own, as TRL takes it.
void note_end_of_text(const ResolveInput& input, std::vector<Diagnostic>& notes) {
  const std::optional<std::string>& asked = input.parsed.arguments.instructions.eos_token;
  const Json& settings = input.model.tokenizer_settings;
  if (!asked || !settings.contains("eos_token") || settings["eos_token"] == *asked) return;
  Diagnostic told = warning(
      "eos_token '" + *asked + "' has no effect",
      "texts end with " + settings["eos_token"].dump() + ", as those of chat_template_path's folder do",
      "leave one of the two out, or name the template's file alone");
  told.where = input.parsed.origins.describe("eos_token");
  notes.push_back(std::move(told));
}

}  // namespace

std::array<NamedSplit, 5> splits_of(const DataFacts& data) {
  return {{{&data.train, "training"},
           {&data.validation, "validation"},
           {&data.test, "test"},
           {&data.validation_mismatched, "mismatched validation"},
           {&data.test_mismatched, "mismatched test"}}};
}

bool wants_validation(const arguments::ParseOutcome& parsed) {
  return parsed.arguments.run.do_eval || parsed.arguments.evaluation.eval_on_start;
}

RunPlan resolve(const ResolveInput& input) {
  const arguments::Arguments& arguments = input.parsed.arguments;
  Problems problems;
  RunPlan plan;
  plan.hftrain_version = input.hftrain_version;
  plan.output_dir = input.output_dir;
  plan.do_train = wants_training(input.parsed);
  plan.do_eval = arguments.run.do_eval;
  plan.do_predict = arguments.run.do_predict;
  plan.seed = static_cast<uint64_t>(arguments.run.seed);
  plan.full_determinism = arguments.run.full_determinism;
  plan.release = arguments::asked_release(arguments);
  plan.plugin = input.plugin;
  plan.empty_cache_steps = arguments.device.torch_empty_cache_steps.value_or(0);
  const std::vector<std::string>& debug = arguments.debug.debug;
  plan.detect_overflow = std::find(debug.begin(), debug.end(), "underflow_overflow") != debug.end();
  plan.ranks = resolve_ranks(input, problems);
  problems.throw_if_any();  // everything below divides by the number of ranks
  plan.strategy = resolve_strategy(input, plan.ranks, problems);
  plan.precision = resolve_precision(input, plan.ranks, problems);
  plan.model = resolve_model(input, plan.ranks, problems);
  if (plan.model.adapter) plan.strategy.state_dict = "full";  // it is small, and peft reads it whole
  plan.data = resolve_data(input, plan, problems);
  plan.batch = resolve_batch(input, plan, problems);
  check_dropped_layers(input, plan, problems);
  plan.steps = resolve_steps(input, plan);
  plan.optimizer = resolve_optimizer(input);
  plan.schedule = resolve_schedule(input, plan);
  plan.profile = resolve_profile(input, plan, problems);
  check_schedule_lengths(input, plan, problems);
  check_momentum(input, plan, problems);
  check_resumed_optimizer(input, plan, problems);
  check_resumed_schedule(input, plan, problems);
  plan.logging = resolve_logging(input, plan, problems);
  plan.evaluation = resolve_evaluation(input, plan, problems);
  plan.saving = resolve_saving(input, plan);
  check_for_trainer(input, plan, problems);
  plan.steps.expected_seconds = expected_seconds(input, plan);
  plan.rehearse = resolve_rehearsal(input, plan);
  const auto architecture = running_architecture(input);
  check_label_smoothing(input, *architecture, problems);
  check_tokens(input, *architecture, problems);
  const bool widens = std::ranges::any_of(
      plan.ranks.ranks, [&](const RankPlan& rank) { return topology_of(input, rank).host.widens_bfloat16; });
  plan.memory_per_rank = estimate_memory(*architecture, plan, widens);
  plan.disk = estimate_disk(*architecture, plan, input.free_bytes);
  check_budget(input, plan, problems);
  problems.throw_if_any();
  return plan;
}

std::vector<Diagnostic> plan_notes(const ResolveInput& input, const RunPlan& plan) {
  std::vector<Diagnostic> notes = gpu_notes(input);
  note_threads(input, plan, notes);
  note_cpu_ranks(input.parsed, notes);
  note_communication(input.environment, notes);
  note_visible_gpus(input, notes);
  note_folders(input, notes);
  note_trackers(input.parsed.arguments.logging.report_to, plan.logging.run_name, input.environment, notes);
  const arguments::LaunchArguments& launch = input.parsed.arguments.launch;
  note_missing_ranks(input, "log_ranks", launch.log_ranks, "rank", plan.ranks.world_size, notes);
  note_missing_ranks(input, "local_ranks_filter", launch.local_ranks_filter, "local rank",
                     plan.ranks.local_world_size, notes);
  const std::vector<Diagnostic> strategy = strategy_notes(input, plan);
  notes.insert(notes.end(), strategy.begin(), strategy.end());
  const std::vector<Diagnostic> kernels = kernel_notes(input, plan);
  notes.insert(notes.end(), kernels.begin(), kernels.end());
  note_adapter(input, plan, notes);
  const std::vector<Diagnostic> opening = opening_notes(input, plan);
  notes.insert(notes.end(), opening.begin(), opening.end());
  note_special_tokens(input, plan, notes);
  note_tokenizer(input, plan, notes);
  note_unheeded_settings(input, notes);
  note_end_of_text(input, notes);
  for (Diagnostic& told : notes_of_length(input.parsed, plan.data.block_size))
    notes.push_back(std::move(told));
  note_learning_rate(input, plan, notes);
  note_norms(input, plan, notes);
  note_labels(input, plan, notes);
  note_label_smoothing(input, plan, notes);
  note_padded_samples(input, plan, notes);
  note_generation(input, plan, notes);
  note_stream(input, plan, notes);
  note_idle_flags(input, plan, notes);
  if (!input.model.missing.empty())
    notes.push_back(warning("not here, and needed by a run: " + join(input.model.missing, ", "),
                            "the plan goes by config.json and the sizes of the data files"));
  if (plan.schedule.warmup_steps >= plan.steps.max_steps && plan.steps.max_steps > 0) {
    notes.push_back(warning("the warm-up of " + std::to_string(plan.schedule.warmup_steps) +
                            " updates is not over when the run ends after " +
                            std::to_string(plan.steps.max_steps)));
  }
  note_dropped_rows(plan, notes);
  note_resume(input, plan, notes);
  note_budget(input, plan, notes);
  if (arguments::is_of_smoke(input.environment)) {
    for (Diagnostic& told : notes_of_smoke(input.parsed, plan)) notes.push_back(std::move(told));
  }
  return notes;
}

}  // namespace hftrain::plan
