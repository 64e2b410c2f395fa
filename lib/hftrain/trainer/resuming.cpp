// Trainer: going on from a checkpoint of ours, of transformers' Trainer, or of a model alone.
#include <algorithm>
#include <cmath>
#include <random>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/base/text.h"
#include "hftrain/interchange/trainer_folder.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/reporting/trainer_state.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/trainer/others_position.h"
#include "hftrain/trainer/state_file.h"
#include "hftrain/trainer/stream_share.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

struct LoggedLosses {
  double sum = 0;    // of all updates up to the last one that was logged
  int64_t last = 0;  // that one
};

LoggedLosses logged_losses(const reporting::LogHistory& history) {
  LoggedLosses logged;
  for (const Json& record : history.records()) {
    if (!record.contains("loss")) continue;
    const int64_t step = record.at("step").get<int64_t>();
    logged.sum += record.at("loss").get<double>() * static_cast<double>(step - logged.last);
    logged.last = step;
  }
  return logged;
}

}  // namespace

reporting::LogHistory Trainer::logged_before() const {
  const std::string path = trainer_state_path(plan_.saving.resume_from);
  if (!speaks() || plan_.saving.resume_from.empty() || !path_exists(path)) return {};
  return reporting::parse_trainer_state(read_file(path), path).log_history;
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
  restore_callbacks(saved.training_state.at("callbacks"));
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
  state_.position.of_other_batches =
      saved.value("samples_per_round", pace.round) != pace.round ||
      saved.value("world_size", communicator_.world_size()) != communicator_.world_size();
  // Saved with the last update of an epoch, before its end: a loader of the program's own is asked for the next one.
  if (own_loaders_.train && state_.position.of_other_batches && state_.position.inside() &&
      state_.epoch == std::floor(state_.epoch))
    state_.position = {static_cast<int64_t>(state_.epoch)};
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
  // How many batches an epoch of the program's own loader has nobody says there.
  state_.position.of_other_batches = own_loaders_.train != nullptr;
  state_.epoch_closed = true;
  state_.total_flos = saved.total_flos;
  state_.input_tokens_seen = saved.num_input_tokens_seen;
  state_.best_metric = saved.best_metric;
  state_.best_step = state_.best_checkpoint_step = saved.best_global_step.value_or(0);
  state_.best_checkpoint = saved.best_model_checkpoint.value_or("");
  const LoggedLosses logged = logged_losses(saved.log_history);
  state_.logged_loss_sum = logged.sum;
  state_.unknown_losses = saved.global_step - logged.last;
  restore_callbacks(saved.stateful_callbacks);
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
  if (!plan_.saving.restore_callbacks && !plan_.saving.same_run) return;
  for (const auto& callback : callbacks_) {
    if (saved.contains(callback->state_name())) callback->load_state(saved.at(callback->state_name()));
  }
}

}  // namespace hftrain::trainer
