#include "hftrain/trainer/trainer.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/data/features.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/plan/stored_shapes.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/reporting/trainer_state.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/early_stopping.h"
#include "hftrain/trainer/memory_account.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/others_position.h"
#include "hftrain/trainer/stream_share.h"

namespace hftrain::trainer {
namespace {

std::string trainer_state_path(const std::string& checkpoint) {
  return checkpoint + "/trainer_state.json";
}

// The sum of the losses of all updates up to the last one that was logged.
double logged_loss(const reporting::LogHistory& history) {
  double sum = 0;
  int64_t before = 0;
  for (const Json& record : history.records()) {
    if (!record.contains("loss")) continue;
    const int64_t step = record.at("step").get<int64_t>();
    sum += record.at("loss").get<double>() * static_cast<double>(step - before);
    before = step;
  }
  return sum;
}

// Whether a folder says that its model has this head. One that says nothing may be of any, as transformers takes it.
bool names_class_of(const std::string& folder, const Json& config) {
  const std::string path = folder + "/config.json";
  const Json saved = path_exists(path) ? read_json_file(path) : Json();
  const Json classes = saved.is_object() ? saved.value("architectures", Json()) : Json();
  return classes.is_array() && !classes.empty() && classes.front() == config.at("architectures").front();
}

}  // namespace

Trainer::Trainer(const plan::RunPlan& plan, runtime::WorkerContext& context, comm::Communicator& communicator,
                 EventChannel& events, Extensions extensions)
    : plan_(plan),
      context_(context),
      communicator_(communicator),
      events_(events),
      nodes_(plan),
      clock_(events),
      step_clock_(context.device.is_cpu()),
      memory_(context, plan.logging.memory_metrics),
      scaler_(make_scaler(plan)),
      losses_(context.device, plan.logging.nan_inf_filter),
      profile_(plan, context) {
  const PhaseClock::Span span = clock_.span("load");
  runtime::seed_generators(plan.seed, *context.device_runtime, context.device);
  model_ = make_model(plan, context.device);
  strategy_ = make_strategy(plan, *model_, communicator, extensions.make_optimizer);
  checkpointing_ = make_checkpointing(plan, *strategy_);
  nn::UnitRunner& inner = checkpointing_ ? *checkpointing_ : strategy_->unit_runner();
  if (plan.detect_overflow) overflow_watch_ = std::make_unique<OverflowWatch>(*model_, inner);
  nn::UnitRunner& runner = overflow_watch_ ? static_cast<nn::UnitRunner&>(*overflow_watch_) : inner;
  schedule_ = extensions.rate_factor
                  ? optim::own_schedule(plan.optimizer.learning_rate, extensions.rate_factor)
                  : make_schedule(plan);
  const models::ObjectiveMaker objectives =
      extensions.loss ? models::own_loss(extensions.loss) : models::loss_objective;
  update_ = std::make_unique<Update>(plan, *model_, runner, *strategy_, *schedule_, scaler_, step_clock_,
                                     parallel::make_host_copies(context_.device), objectives,
                                     std::move(extensions.training_step));
  evaluator_ = std::make_unique<Evaluator>(plan, *model_, runner, communicator, events, objectives,
                                           std::move(extensions.prediction_step));
  const checkpoint::CheckpointedRun run{plan, model_->architecture().parameters(),
                                        model_->options().parameter_dtype, *strategy_, communicator};
  const auto moved = [this](uint64_t bytes) { events_.moved(bytes); };
  loader_ = std::make_unique<checkpoint::RunLoader>(run, moved);
  checkpointer_ =
      std::make_unique<checkpoint::Checkpointer>(run, files_, context.device_runtime.get(), moved);
  exporter_ = std::make_unique<checkpoint::ModelExporter>(run, files_, moved);
  if (plan.evaluation.early_stopping_patience) {
    add_callback(std::make_unique<EarlyStopping>(
        plan.evaluation.metric_for_best_model, plan.evaluation.greater_is_better,
        *plan.evaluation.early_stopping_patience, plan.evaluation.early_stopping_threshold));
  }
  agrees_on_flags_ = !extensions.callbacks.empty() && communicator.world_size() > 1;
  others_ = std::move(extensions.whose);
  own_metrics_ = std::move(extensions.metrics);
  own_loaders_ = std::move(extensions.loaders);
  edit_record_ = std::move(extensions.edit_record);
  for (auto& callback : extensions.callbacks) add_callback(std::move(callback));
  load();
  const bool saves = plan.do_train && plan.saving.interval.strategy != "no";
  if (saves && plan.saving.asynchronous) checkpointer_->reserve_copy();
  log_ = std::make_unique<RunLog>(plan, context, state_, logged_before(), events, extensions.reporters);
  notify(&Callback::on_init_end);
}

Trainer::~Trainer() = default;

reporting::LogHistory Trainer::logged_before() const {
  const std::string path = trainer_state_path(plan_.saving.resume_from);
  if (!speaks() || plan_.saving.resume_from.empty() || !path_exists(path)) return {};
  return reporting::parse_trainer_state(read_file(path), path).log_history;
}

void Trainer::load() {
  const std::string& resume_from = plan_.saving.resume_from;
  const std::optional<plan::AdapterPlan>& adapter = plan_.model.adapter;
  const std::string& folder = resume_from.empty() || adapter ? plan_.model.source_folder : resume_from;
  if (folder.empty()) {
    draw_initial_weights(std::nullopt);
  } else {
    load_weights_of(folder);
  }
  if (adapter && !resume_from.empty()) {
    loader_->load_saved(resume_from);
  } else if (adapter && !adapter->folder.empty()) {
    loader_->load_adapter_of(adapter->folder);
  }
  peak_host_bytes_loading_ = runtime::host_memory().peak_resident;  // before the optimizer's state is made
  // Model creation draws numbers that a resumed run does not; both start training from the same place.
  runtime::seed_generators(plan_.seed, *context_.device_runtime, context_.device);
  const double begin = monotonic_seconds();
  strategy_->prepare();
  preparation_seconds_ = monotonic_seconds() - begin;
  if (!resume_from.empty()) resume(resume_from);
}

// A model that is opened for another task than it was saved from gets a new head.
void Trainer::load_weights_of(const std::string& folder) {
  checkpoint::OpeningRules rules;
  if (folder != plan_.saving.resume_from) {
    const bool same = names_class_of(folder, plan_.model.config);
    rules.head = same ? checkpoint::StoredHead::kThisOne : checkpoint::StoredHead::kAnother;
    rules.ignore_mismatched_sizes = plan_.model.ignore_mismatched_sizes;
    rules.told = true;
    rules.grown = plan_.model.grown;
    rules.generator = context_.device_runtime->generator(c10::Device(c10::DeviceType::CPU));
  }
  const checkpoint::LoadedWeights loaded = loader_->load_model(folder, rules);
  std::set<std::string> left(loaded.missing.begin(), loaded.missing.end());
  for (const auto& mismatch : loaded.mismatched) left.insert(mismatch.name);
  left.insert(loaded.adapters.begin(), loaded.adapters.end());
  models::InitialWeights::Positions only;
  const auto& table = model_->architecture().parameters().parameters;
  for (size_t i = 0; i < table.size(); ++i) {
    if (left.count(table[i].name) > 0) only.insert(i);
  }
  if (!only.empty()) draw_initial_weights(only);
  if (speaks()) say_what_differs(folder, loaded);
}

// Whether what is opened after the base model's weights fills the parameter.
bool Trainer::held_by_adapter(const std::string& name) const {
  const std::optional<plan::AdapterPlan>& adapter = plan_.model.adapter;
  if (!adapter || (plan_.saving.resume_from.empty() && adapter->folder.empty())) return false;
  const auto& table = model_->architecture().parameters().parameters;
  const auto spec = std::ranges::find(table, name, &architectures::ParameterSpec::name);
  return !std::ranges::binary_search(plan_.model.frozen, static_cast<int>(spec - table.begin()));
}

void Trainer::say_what_differs(const std::string& folder, const checkpoint::LoadedWeights& loaded) {
  const auto warn = [&](const std::string& name, const std::string& what) {
    events_.message(LogLevel::kWarning, "'" + name + "' " + what);
  };
  for (const std::string& name : loaded.unused) warn(name, "of " + folder + " is not used by this model");
  for (const std::string& name : loaded.missing) {
    if (!held_by_adapter(name)) warn(name, "is not in " + folder + " and starts from random numbers");
  }
  for (const auto& [name, stored, wanted] : loaded.mismatched) {
    if (held_by_adapter(name)) continue;
    warn(name, "of " + folder + " has the shape " + plan::shape_text(stored) + " and not " +
                   plan::shape_text(wanted) + ": it starts from random numbers");
  }
}

void Trainer::draw_initial_weights(const std::optional<models::InitialWeights::Positions>& only) {
  const architectures::ParameterTable& table = model_->architecture().parameters();
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < table.parameters.size(); ++i) positions[table.parameters[i].name] = i;
  models::InitialWeights weights(table, context_.device_runtime->generator(c10::Device(c10::DeviceType::CPU)),
                                 only);
  const at::NoGradGuard no_grad;
  strategy_->visit_parameters(
      [&](const parallel::StatePart& part) {
        const size_t position = positions.at(part.parameter);
        if (only && only->count(position) == 0) return;
        at::Tensor box = weights.at(position);
        for (size_t dim = 0; dim < part.offset.size(); ++dim) {
          const auto d = static_cast<int64_t>(dim);
          box = box.narrow(d, part.offset[dim], part.tensor.size(d));
        }
        part.tensor.copy_(box);
      },
      parallel::Access::kWrite);
}

void Trainer::resume(const std::string& checkpoint) {
  const bool whole =
      checkpoint::has_training_state(checkpoint) || !path_exists(trainer_state_path(checkpoint));
  const bool of_trainer = !whole && interchange::has_trainer_optimizer(checkpoint);
  if (communicator_.maximum(whole ? 1 : 0) == 1) {
    resume_all_of(checkpoint);
  } else if (communicator_.maximum(of_trainer ? 1 : 0) == 1) {
    resume_trainers(checkpoint);
  } else {
    resume_model_of(checkpoint);
  }
  start_step_ = last_saved_step_ = state_.global_step;
  find_best_model();
  warn_of_early_end();
}

// As in the Trainer: epochs are counted as updates of the batches of now, whatever the batches were that the checkpoint counted.
void Trainer::warn_of_early_end() {
  const plan::StepsPlan& steps = plan_.steps;
  if (steps.limited_by_steps || steps.updates_per_epoch == 0 || !speaks()) return;
  const auto in_epochs = [&](int64_t updates) {
    return static_cast<double>(updates) / static_cast<double>(steps.updates_per_epoch);
  };
  const int64_t left = std::max<int64_t>(0, steps.max_steps - state_.global_step);
  const double end = state_.epoch + in_epochs(left);
  if (end + in_epochs(1) > steps.num_train_epochs) return;
  events_.message(LogLevel::kWarning,
                  "the run will end at epoch " + reporting::python_repr(std::round(end * 100) / 100) +
                      ", not at --num_train_epochs " + reporting::python_repr(steps.num_train_epochs) +
                      ": that is " + std::to_string(steps.max_steps) +
                      " updates with the batches of now, and the checkpoint has made " +
                      std::to_string(state_.global_step) +
                      " of smaller batches or other data; --max_steps says how many it shall have");
}

void Trainer::resume_all_of(const std::string& checkpoint) {
  const checkpoint::CheckpointContents saved = loader_->load_training_state(checkpoint);
  state_ = state_from_json(saved.training_state.at("state"));
  resume_data(saved.training_state);
  schedule_->load_state(saved.training_state.at("schedule"));
  warn_of_other_rate(saved.training_state.at("schedule"));
  scaler_.load_state(saved.training_state.at("scaler"));
  losses_.restore(saved.rank_state.loss_sum);
  restore_random_streams(saved.rank_state.random, saved.step, "");
  if (plan_.saving.restore_callbacks) restore_callbacks(saved.training_state.at("callbacks"));
}

void Trainer::resume_data(const Json& saved) {
  const DataPace pace = data_pace();
  if (!plan_.data.ignore_data_skip) check_ranks_with_files(plan_, saved.value("ranks_with_files", 0));
  // One that was saved before ranks took note of their places has none: they pass all samples behind.
  const Json places = saved.value("places", Json());
  if (places.is_array() && places.size() == static_cast<size_t>(ranks_with_files(plan_)))
    state_.position = position_from_json(places.at(static_cast<size_t>(communicator_.rank())));
  state_.position = moved_to(state_.position,
                             {.round = saved.value("samples_per_round", pace.round),
                              .update = saved.value("global_batch", pace.update)},
                             pace);
  const std::string then = saved.value("stream", ""),
                    now = plan_.data.stream ? plan_.data.stream->identity : "";
  if (then == now) return;
  state_.position.rows = state_.position.row_samples = state_.position.begun_again = 0;
  state_.position.of_other_data = true;
  if (speaks()) warn_of_other_data(then);
}

void Trainer::warn_of_other_data(const std::string& saved_stream) {
  const bool streams = plan_.data.stream.has_value(), streamed = !saved_stream.empty();
  const std::string goes_on = plan_.data.ignore_data_skip ? "the run begins this epoch again"
                                                          : "the run goes on behind as many samples of these";
  const std::string mixed =
      plan_.data.ignore_data_skip ? "; " : ", so that this epoch may see rows twice and others never; ";
  std::string what = "the training data are not those that the checkpoint was saved with: ";
  if (streams && !streamed)
    what =
        "the checkpoint is of a run with prepared data, and this one streams them: from here on the rows "
        "come in "
        "the order of the files and are not shuffled" +
        mixed;
  if (streamed && !streams)
    what =
        "the checkpoint is of a run that streamed its data, and this one prepares them: from here on the "
        "rows come "
        "in the order of --train_sampling_strategy" +
        mixed;
  events_.message(LogLevel::kWarning, what + goes_on);
}

// As the Trainer, which restores what the optimizer and the schedule remember, base rates included.
void Trainer::warn_of_other_rate(const Json& schedule) {
  const double given = plan_.optimizer.learning_rate, kept = schedule.value("base_rate", given);
  if (kept == given || !speaks()) return;
  events_.message(LogLevel::kWarning, "--learning_rate " + reporting::python_repr(given) +
                                          " has no effect on a run that goes on: the rate stays " +
                                          reporting::python_repr(kept) +
                                          ", as in its checkpoint; --model_name_or_path starts a new run "
                                          "from the checkpoint's weights");
}

// From a checkpoint of --save_only_model.
void Trainer::resume_model_of(const std::string& checkpoint) {
  take_progress_of(checkpoint);
  if (!speaks()) return;
  events_.message(LogLevel::kWarning,
                  checkpoint +
                      " holds a model and no training state that could be gone on from, as with "
                      "--save_only_model: the run goes on at its step, and the "
                      "optimizer, the schedule and the random numbers begin anew");
}

// As in the Trainer, whose optimizer begins it at the first update that reaches the parameter.
void Trainer::warn_of_missing_state(const std::vector<std::string>& parameters) {
  if (parameters.empty() || !speaks()) return;
  constexpr size_t kShown = 3;
  const std::vector<std::string> shown(
      parameters.begin(),
      parameters.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, parameters.size())));
  events_.message(LogLevel::kWarning,
                  "the checkpoint has no state of the optimizer for " + std::to_string(parameters.size()) +
                      " of the parameters that this run trains, so that it begins anew for them: " +
                      join(shown, ", ") + (parameters.size() > kShown ? ", …" : ""));
}

// What transformers' Trainer takes from such a folder of its own.
void Trainer::resume_trainers(const std::string& checkpoint) {
  take_progress_of(checkpoint);
  if (schedule_->watches_metric())
    throw Error(ExitCode::kData, "the Trainer's schedule cannot be gone on from")
        .where(checkpoint + '/' + interchange::kScheduleFile)
        .why("this run's --lr_scheduler_type " + plan_.schedule.name + " follows a metric")
        .hint("--lr_scheduler_type of the run that wrote it, when that goes by steps");
  const checkpoint::TrainerResume saved = loader_->load_trainer_state(checkpoint);
  const Json schedule = {{"name", plan_.schedule.name},
                         {"steps", saved.schedule.steps},
                         {"base_rate", saved.schedule.base_rate}};
  schedule_->load_state(schedule);
  warn_of_other_rate(schedule);
  if (saved.scaler)
    scaler_.load_state({{"scale", saved.scaler->scale}, {"good_updates", saved.scaler->good_updates}});
  warn_of_missing_state(saved.without_state);
  restore_random_streams(saved.random, state_.global_step,
                         "; where that run had as many, the files rng_state_<rank>.pth are lost: copy them "
                         "from where the folder comes from");
}

// Of a folder without a state of ours: trainer_state.json says how far the run was. Where in the data follows from
// its epoch, as in the Trainer from its step.
void Trainer::take_progress_of(const std::string& checkpoint) {
  const std::string path = trainer_state_path(checkpoint);
  const reporting::TrainerState saved = reporting::parse_trainer_state(read_file(path), path);
  state_.global_step = state_.last_logged_step = saved.global_step;
  state_.epoch = saved.epoch;
  state_.position =
      position_in_data(plan_, saved, interchange::ranks_of_trainer(checkpoint), data_pace(), path);
  state_.epoch_closed = true;
  state_.total_flos = saved.total_flos;
  state_.input_tokens_seen = saved.num_input_tokens_seen;
  state_.best_metric = saved.best_metric;
  state_.best_step = state_.best_checkpoint_step = saved.best_global_step.value_or(0);
  state_.best_checkpoint = saved.best_model_checkpoint.value_or("");
  state_.logged_loss_sum = logged_loss(saved.log_history);
  if (plan_.saving.restore_callbacks) restore_callbacks(saved.stateful_callbacks);
}

// Collective.
void Trainer::say_whose_streams_are_new(bool own_are_new, const std::string& more_to_do) {
  const int64_t world = communicator_.world_size(), rank = communicator_.rank();
  const int64_t last = communicator_.maximum(own_are_new ? rank : -1);
  const int64_t first = world - communicator_.maximum(own_are_new ? world - rank : 0);
  if (last < 0 || !speaks()) return;
  const std::string ranks = first == last ? "rank " + std::to_string(first)
                                          : "ranks " + std::to_string(first) + " to " + std::to_string(last);
  events_.message(LogLevel::kInfo, "the checkpoint has no random numbers of " + ranks +
                                       ", where they begin anew: dropout is not that of a run that never "
                                       "stopped; as many ranks as saved it go on exactly, on devices of "
                                       "the same kind" +
                                       more_to_do);
}

// Collective. A rank that the saved run did not have, whose file is lost, or that had no GPU there, starts streams of its own from the
// seed, the step and its number.
void Trainer::restore_random_streams(const runtime::RandomState& state, int64_t step,
                                     const std::string& more_to_do) {
  const bool saved = runtime::has_streams_of(state, context_.device);
  say_whose_streams_are_new(!saved, more_to_do);
  if (saved) {
    runtime::restore_random_state(state, *context_.device_runtime, context_.device);
    return;
  }
  std::seed_seq mixed{plan_.seed, static_cast<uint64_t>(step), static_cast<uint64_t>(communicator_.rank())};
  uint32_t seed = 0;
  mixed.generate(&seed, &seed + 1);
  runtime::seed_generators(seed, *context_.device_runtime, context_.device);
}

void Trainer::restore_callbacks(const Json& saved) {
  for (const auto& callback : callbacks_) {
    if (saved.contains(callback->state_name())) callback->load_state(saved.at(callback->state_name()));
  }
}

RunOutcome Trainer::run() {
  train_as_planned();
  evaluate_as_planned();
  predict_as_planned();
  return finish();
}

void Trainer::train_as_planned() {
  if (stop_ == StopSignal::kNone && plan_.do_train) train();
}

void Trainer::evaluate_as_planned() {
  if (stop_ == StopSignal::kNone && plan_.evaluation.at_end) evaluate_at_end();
}

void Trainer::predict_as_planned() {
  if (stop_ == StopSignal::kNone && plan_.do_predict) predict_at_end();
}

RunOutcome Trainer::finish() {
  log_->end(stop_ == StopSignal::kNone ? reporting::RunEnd::kFinished : reporting::RunEnd::kStopped);
  if (nodes_.several()) share_results();
  RunOutcome outcome{ExitCode::kDone, "finished", stats()};
  if (stop_ != StopSignal::kNone) {
    outcome.code = stop_ == StopSignal::kInterrupt ? ExitCode::kInterrupted : ExitCode::kTerminated;
    outcome.reason = stop_ == StopSignal::kInterrupt ? "interrupted" : "terminated";
  } else if (control_.should_training_stop && state_.global_step < plan_.steps.max_steps) {
    outcome.reason = "early stopping";
  }
  return outcome;
}

std::shared_ptr<const data::Dataset> Trainer::open_split(const plan::SplitPlan& split) const {
  return data::Dataset::open(split.cache_path, split.columns);
}

EvaluationRequest Trainer::evaluation_request(EvaluatedSet set, bool writes) {
  const plan::SplitPlan& planned = *set.of(plan_.data);
  const std::shared_ptr<const data::Dataset> dataset = open_split(planned);
  const std::string prefix = set.predicted() ? "predict" : "eval";
  EvaluationRequest request{.dataset = dataset,
                            .collator = make_collator(plan_.data, planned),
                            .prefix = prefix,
                            .make_scorer = with_own_metrics(make_scorer_maker(plan_, dataset, set, writes),
                                                            own_metrics_, plan_.evaluation.label_columns),
                            .after_batch = [this] { notify(&Callback::on_prediction_step); },
                            .own_loader = set.predicted() ? own_loaders_.test : own_loaders_.evaluation,
                            .own_metrics = own_metrics_ != nullptr};
  if (writes && speaks()) request.place = {plan_.output_dir, prefix};
  return request;
}

std::string Trainer::describe_memory() const {
  return describe_memory_account(memory_account(plan_, context_, *strategy_));
}

Json Trainer::stats() const {
  const double seconds = clock_.seconds("train");
  const auto steps = static_cast<double>(state_.global_step - start_step_);
  const auto rate = [&](double amount) { return seconds > 0 ? amount / seconds : 0.0; };
  const parallel::StateBytes held = strategy_->state_bytes();
  return {{"phases", clock_.to_json_value()},
          {"steps", steps},
          {"tokens_per_second", rate(static_cast<double>(tokens_trained_))},
          {"samples_per_second", rate(static_cast<double>(samples_trained_))},
          {"steps_per_second", rate(steps)},
          {"skipped_updates", state_.skipped_updates},
          {"rank",
           {{"rank", communicator_.rank()},
            {"peak_host_bytes", memory_.peak_host_bytes()},
            {"peak_host_bytes_loading", peak_host_bytes_loading_},
            {"peak_device_bytes", memory_.peak_device_bytes()},
            {"state_bytes",
             {{"parameters", held.parameters}, {"gradients", held.gradients}, {"optimizer", held.optimizer}}},
            {"bytes_sent", communicator_.bytes_sent()}}}};
}

}  // namespace hftrain::trainer
