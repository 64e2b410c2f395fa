#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hftrain/arguments/metric_name.h"
#include "hftrain/arguments/option_keys.h"
#include "hftrain/base/log_level.h"
#include "hftrain/base/whole_number.h"
#include "hftrain/plan/resolve_parts.h"
#include "hftrain/plan/step_arithmetic.h"
#include "hftrain/plan/tracker_variables.h"
#include "hftrain/plan/trackio_project.h"
#include "hftrain/tasks/extra_scorer.h"

namespace hftrain::plan {
namespace {

constexpr double kDefaultEvalSteps = 500;  // what trainer_state.json holds when nobody evaluates by steps

std::string log_level(const std::string& asked, const Environment& environment, LogLevel otherwise) {
  return log_level_name(wanted_log_level(asked, environment, otherwise));
}

tasks::ExtraMetrics extra_metrics(const arguments::EvaluationArguments& evaluation) {
  const auto asked = [&](const char* word) {
    const std::vector<std::string>& words = evaluation.include_for_metrics;
    return !evaluation.prediction_loss_only && std::find(words.begin(), words.end(), word) != words.end();
  };
  return {.of_inputs = asked("inputs"), .of_losses = asked("loss")};
}

tasks::Scoring scoring_of(const ResolveInput& input) {
  const tasks::TaskRow& task = task_row(input.parsed);
  const arguments::EvaluationArguments& evaluation = input.parsed.arguments.evaluation;
  if (task.scoring == nullptr || evaluation.prediction_loss_only) return {};
  tasks::Scoring scoring = task.scoring(task_input(input.parsed, input.model), input.data.of_task);
  if (scoring.metrics.empty()) return scoring;  // the loss alone, and nobody judges what else is handed over
  for (std::string& name : extra_metrics(evaluation).names()) scoring.metrics.push_back(std::move(name));
  return scoring;
}

int64_t kept_bytes(const RunPlan& plan, const tasks::Scoring& scoring) {
  int64_t most = 0;
  const DataPlan& data = plan.data;
  for (const auto& split : {data.validation, data.test, data.validation_mismatched, data.test_mismatched}) {
    if (!split) continue;
    const int64_t pending = std::min(split->samples, tasks::kSamplesOfPiece);
    most = std::max(most, split->samples * (scoring.bytes_per_sample + scoring.bytes_per_written_sample) +
                              pending * scoring.bytes_per_pending_sample);
  }
  return most;
}

// Metrics are made of the task's own labels: with other columns in their place there would be none to say. Answers
// to questions are judged by the data set, and without any labels nothing is.
void check_judged_labels(const ResolveInput& input, const RunPlan& plan,
                         const std::vector<std::string>& named, Problems& problems) {
  const tasks::TaskRow& task = task_row(input.parsed);
  const bool judges = task.scoring != nullptr && task.head != architectures::Head::kQuestionAnswering &&
                      !input.parsed.arguments.evaluation.prediction_loss_only &&
                      (plan.data.validation || plan.data.test);
  if (!judges || named.empty() || std::find(named.begin(), named.end(), "labels") != named.end()) return;
  problems.usage(
      "the metrics have no labels to judge by", input.parsed.origins.describe("label_names"),
      "those of --task " + std::string(task.name) + " are of the column labels, which is not named",
      "name labels too, or ask for the loss alone with --prediction_loss_only");
}

// Those of the task's batches, or of them those that were named.
std::vector<std::string> label_columns(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  using architectures::Head;
  const bool answers = task_row(input.parsed).head == Head::kQuestionAnswering;
  const auto& named = input.parsed.arguments.data.label_names;
  if (!named)
    return answers ? std::vector<std::string>{"start_positions", "end_positions"}
                   : std::vector<std::string>{"labels"};
  std::vector<std::string> known;
  for (const data::PaddedColumn& column : plan.data.padding.columns) known.push_back(column.tensor);
  if (known.empty())
    known = {sees_images(task_row(input.parsed).head) ? "pixel_values" : "input_ids", "labels"};
  for (const std::string& name : *named) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    problems.usage(
        "a batch has no column '" + name + "'", input.parsed.origins.describe("label_names"),
        "batches of --task " + std::string(task_row(input.parsed).name) + " have " + join(known, ", "),
        "some of these, or leave it out");
  }
  check_judged_labels(input, plan, *named, problems);
  return *named;
}

// Known before the run, so that nobody trains until the first evaluation to learn of it.
void check_metric(const ResolveInput& input, const EvaluationPlan& evaluation,
                  const std::vector<std::string>& of_task, Problems& problems) {
  const std::string& asked = evaluation.metric_for_best_model;
  // What a program's compute_metrics returns only its first evaluation knows.
  if (asked.empty() || input.parsed.arguments.launch.worker_program) return;
  std::vector<std::string> known = {"loss"};
  known.insert(known.end(), of_task.begin(), of_task.end());
  for (const char* speed : {"runtime", "samples_per_second", "steps_per_second"}) known.emplace_back(speed);
  const std::string name = asked.substr(std::string_view("eval_").size());
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const std::string nearest = did_you_mean(nearest_names(name, known, 1));
  problems.usage(
      "there is no metric '" + name + "'", input.parsed.origins.describe("metric_for_best_model"),
      "evaluation of --task " + std::string(task_row(input.parsed).name) + " gives " + join(known, ", "),
      nearest.empty() ? "one of these" : nearest);
}

// The Trainer smooths what its batches name `labels`, one of a row; places of answers are named otherwise.
bool smooths_labels(const architectures::Architecture& architecture) {
  using architectures::Head;
  const bool several = architecture.head() == Head::kSequenceClassification &&
                       architecture.labels().problem == architectures::ProblemType::kMultiLabel;
  return !several && architecture.head() != Head::kQuestionAnswering;
}

}  // namespace

bool gives_metrics(const ResolveInput& input) {
  return !scoring_of(input).metrics.empty();
}

void check_label_smoothing(const ResolveInput& input, const architectures::Architecture& architecture,
                           Problems& problems) {
  using architectures::ProblemType;
  if (input.parsed.arguments.instructions.loss_type == "dft" &&
      input.parsed.arguments.optimizer.label_smoothing_factor != 0)
    problems.usage("--loss_type dft and --label_smoothing_factor do not go together",
                   input.parsed.origins.describe("label_smoothing_factor"),
                   "dft weighs a token's loss by the probability of that very token",
                   "leave one of them out");
  const bool numbers = architecture.head() == architectures::Head::kSequenceClassification &&
                       architecture.labels().problem == ProblemType::kRegression;
  if (!numbers || input.parsed.arguments.optimizer.label_smoothing_factor == 0) return;
  problems.usage("labels of this kind are not smoothed",
                 input.parsed.origins.describe("label_smoothing_factor"),
                 "the labels of the data are numbers: a regression", "leave it out");
}

void note_label_smoothing(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  if (input.parsed.arguments.optimizer.label_smoothing_factor == 0 || plan.optimizer.label_smoothing != 0)
    return;
  const bool answers = input.model.architecture->head() == architectures::Head::kQuestionAnswering;
  const std::string what = answers ? "the places of answers" : "rows that have several labels at once";
  notes.push_back(warning("label_smoothing_factor has no effect here",
                          "the Trainer does not smooth " + what + ", and neither does hftrain",
                          "leave it out"));
}

void note_padded_samples(const ResolveInput& input, const RunPlan& plan, std::vector<Diagnostic>& notes) {
  const bool judges = plan.do_eval || plan.do_predict || plan.evaluation.interval.strategy != "no";
  const int64_t round = plan.batch.per_device_eval * plan.ranks.world_size;
  const auto is_even = [&](const std::optional<SplitPlan>& split) {
    return !split || !split->exact || split->samples % round == 0;
  };
  if (!input.parsed.arguments.interface.hf_compat || plan.data.task != tasks::Task::kSeq2Seq || !judges ||
      (plan.ranks.world_size < 2 && is_even(plan.data.validation) && is_even(plan.data.test)))
    return;
  notes.push_back(
      {Diagnostic::Severity::kNote, "every sample that is evaluated counts once",
       input.parsed.origins.describe("hf_compat"),
       "the Seq2SeqTrainer counts those again that fill up the last batches of the ranks, and a last batch "
       "that is smaller as a whole one in its loss",
       "compare them where the samples fill the batches of all ranks, metrics also on one rank"});
}

OptimizerPlan resolve_optimizer(const ResolveInput& input) {
  const arguments::OptimizerArguments& optimizer = input.parsed.arguments.optimizer;
  OptimizerPlan plan;
  plan.name = optimizer.optim;
  plan.learning_rate = optimizer.learning_rate;
  plan.weight_decay = optimizer.weight_decay;
  const std::optional<arguments::DeepSpeedOptions>& deepspeed = input.parsed.arguments.parallel.deepspeed;
  plan.decays_all = deepspeed && deepspeed->has_optimizer;
  plan.beta1 = optimizer.adam_beta1;
  plan.beta2 = optimizer.adam_beta2;
  plan.epsilon = optimizer.adam_epsilon;
  plan.max_grad_norm = optimizer.max_grad_norm;
  if (smooths_labels(*running_architecture(input))) plan.label_smoothing = optimizer.label_smoothing_factor;
  plan.loss_by_probability = input.parsed.arguments.instructions.loss_type == "dft";
  const Json options = arguments::optimizer_options(optimizer);
  for (const auto& [key, value] : options.items()) {
    if (key == "weight_decay") continue;  // it is plan.weight_decay
    plan.options[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return plan;
}

SchedulePlan resolve_schedule(const ResolveInput& input, const RunPlan& plan) {
  const arguments::ScheduleArguments& schedule = input.parsed.arguments.schedule;
  SchedulePlan result;
  result.name = schedule.lr_scheduler_type;
  result.warmup_steps = warmup_steps(schedule.warmup_steps, plan.steps.max_steps);
  result.options = schedule.lr_scheduler_kwargs.value_or(Json::object());
  return result;
}

bool goes_by_steps(const std::string& schedule) {
  constexpr std::array<std::string_view, 10> kNames = {
      "linear",     "cosine",       "constant",           "constant_with_warmup",      "cosine_with_restarts",
      "polynomial", "inverse_sqrt", "cosine_with_min_lr", "cosine_warmup_with_min_lr", "warmup_stable_decay"};
  return std::ranges::count(kNames, schedule) > 0;
}

// DeepSpeed lets the first beta of OneCycle grow past 1 when it decays for long enough, which ends in numbers
// that are not finite. Formula: OneCycle of deepspeed's runtime/lr_schedules.py.
void check_momentum(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const Json& options = plan.schedule.options;
  if (plan.schedule.name != "OneCycle" || !options.value("cycle_momentum", true)) return;
  const int64_t first = options.value("cycle_first_step_size", int64_t{2000});
  const int64_t cycle = first + options.value("cycle_second_step_size", first);
  const int64_t size = options.value("decay_step_size", int64_t{0});
  const double highest = options.value("cycle_max_mom", 0.9), rate = options.value("decay_mom_rate", 0.0);
  const int64_t after =
      plan.steps.max_steps - 1 - cycle;  // updates of the last one's iteration past the cycle
  if (size == 0 || after <= 0) return;
  const double last = highest * (1 + rate * static_cast<double>(after) / static_cast<double>(size));
  if (last < 1) return;
  problems.usage("the momentum of OneCycle grows to 1 and more before the last update",
                 input.parsed.origins.describe("lr_scheduler_type"),
                 "cycle_max_mom x (1 + decay_mom_rate x " + std::to_string(after) + " / decay_step_size)",
                 "a smaller decay_mom_rate");
}

ProfilePlan resolve_profile(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const std::optional<std::string>& asked = input.parsed.arguments.debug.profile_steps;
  if (!asked) return {};
  const auto refuse = [&](const std::string& why) {
    problems.usage("profile_steps " + *asked + " names no updates of this run",
                   input.parsed.origins.describe("profile_steps"), why,
                   "one update, as 10, or several, as 10:12");
    return ProfilePlan{};
  };
  const size_t colon = asked->find(':');
  const std::optional<int> first = whole_number(asked->substr(0, colon));
  const std::optional<int> last = colon == std::string::npos ? first : whole_number(asked->substr(colon + 1));
  if (!first || !last || *first < 1 || *last < *first) return refuse("updates are counted from 1");
  if (plan.steps.max_steps > 0 && *last > plan.steps.max_steps)
    return refuse("the run has " + std::to_string(plan.steps.max_steps));
  return {*first, *last};
}

LoggingPlan resolve_logging(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const arguments::LoggingArguments& logging = input.parsed.arguments.logging;
  LoggingPlan result;
  result.interval = {logging.logging_strategy, absolute_steps(logging.logging_steps, plan.steps.max_steps)};
  result.first_step = logging.logging_first_step;
  result.nan_inf_filter = logging.logging_nan_inf_filter;
  check_trackers(logging.report_to, input.environment, problems);
  result.report_to = running_trackers(logging.report_to, input.environment);
  const std::string beside_checkpoints = input.output_dir + "/runs/" + input.run_label;
  result.tensorboard_dir =
      logging.logging_dir.value_or(input.environment.get_or("TENSORBOARD_LOGGING_DIR", beside_checkpoints));
  result.run_name = logging.run_name.value_or("");
  result.project = logging.project;
  if (std::ranges::find(result.report_to, "trackio") != result.report_to.end())
    check_trackio_project(logging.project, input.parsed.origins.describe("project"), problems);
  result.count_input_tokens = logging.include_num_input_tokens_seen;
  result.memory_metrics = !logging.skip_memory_metrics;
  result.level = log_level(logging.log_level, input.environment, LogLevel::kInfo);
  result.replica_level = log_level(logging.log_level_replica, input.environment, LogLevel::kWarning);
  result.on_each_node = logging.log_on_each_node;
  result.arguments_json = input.arguments_json;
  return result;
}

EvaluationPlan resolve_evaluation(const ResolveInput& input, const RunPlan& plan, Problems& problems) {
  const arguments::EvaluationArguments& evaluation = input.parsed.arguments.evaluation;
  const arguments::SavingArguments& saving = input.parsed.arguments.saving;
  EvaluationPlan result;
  const double steps = evaluation.eval_steps.value_or(kDefaultEvalSteps);
  result.interval = {evaluation.eval_strategy, absolute_steps(steps, plan.steps.max_steps)};
  result.delay = evaluation.eval_delay.value_or(0);
  result.on_start = evaluation.eval_on_start;
  result.at_end = plan.do_eval;
  result.metric_for_best_model = arguments::metric_in_log(saving.metric_for_best_model.value_or(""));
  result.greater_is_better = saving.greater_is_better.value_or(false);
  result.load_best_at_end = saving.load_best_model_at_end.value_or(false);
  result.early_stopping_patience = saving.early_stopping_patience;
  result.early_stopping_threshold = saving.early_stopping_threshold;
  const tasks::ExtraMetrics extra = extra_metrics(evaluation);
  result.gives_inputs = extra.of_inputs;
  result.gives_losses = extra.of_losses;
  result.accumulation_steps = evaluation.eval_accumulation_steps.value_or(1);
  result.joins_batches = evaluation.eval_do_concat_batches;
  result.shows_running_metrics = evaluation.batch_eval_metrics;
  result.label_columns = label_columns(input, plan, problems);
  const tasks::Scoring scoring = scoring_of(input);
  result.outputs = scoring.outputs;
  result.scoring = scoring.options;
  result.kept_bytes = kept_bytes(plan, scoring);
  result.generation = resolve_generation(input, plan, scoring.outputs == tasks::OutputForm::kTexts, problems);
  check_metric(input, result, scoring.metrics, problems);
  if (plan.do_predict && evaluation.prediction_loss_only && task_row(input.parsed).scoring != nullptr &&
      task_row(input.parsed)
          .scoring(task_input(input.parsed, input.model), input.data.of_task)
          .writes_files) {
    problems.usage("prediction_loss_only leaves nothing to write of the predictions",
                   input.parsed.origins.describe("prediction_loss_only"), "do_predict asks for them",
                   "leave one of the two out");
  }
  return result;
}

SavingPlan resolve_saving(const ResolveInput& input, const RunPlan& plan) {
  const arguments::SavingArguments& saving = input.parsed.arguments.saving;
  SavingPlan result;
  result.interval = {saving.save_strategy, absolute_steps(saving.save_steps, plan.steps.max_steps)};
  if (saving.save_total_limit.value_or(0) > 0) result.total_limit = saving.save_total_limit;
  result.only_model = saving.save_only_model;
  result.for_trainer = saving.save_for_trainer;
  result.asynchronous = saving.async_save;
  result.resume_from = input.resume_from;
  result.restore_callbacks = saving.restore_callback_states_from_checkpoint;
  const arguments::HubArguments& hub = input.parsed.arguments.hub;
  const std::string named = hub.push_to_hub ? hub.hub_model_id.value_or("") : "";
  result.repository = named.substr(named.rfind('/') + 1);
  return result;
}

}  // namespace hftrain::plan
