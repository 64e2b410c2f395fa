// Trainer: checkpoints and which of them stay.
#include "hftrain/runtime/random_state.h"
#include "hftrain/storage/retention.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/state_file.h"
#include "hftrain/trainer/stream_share.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {

// Where each rank is in files of its own; null: all of them read the same.
Json Trainer::places_in_own_files() const {
  if (ranks_with_files(plan_) == 0) return nullptr;
  Json places = Json::array();
  for (const std::string& place : communicator_.all_gather_text(to_json_value(state_.position).dump()))
    places.push_back(parse_json(place, "the place of a rank in its files"));
  return places;
}

Json Trainer::training_state() const {
  Json callbacks = Json::object();
  for (const auto& callback : callbacks_) {
    if (!callback->state_name().empty()) callbacks[callback->state_name()] = callback->save_state();
  }
  return {{"format", 1},
          {"state", to_json_value(state_)},
          {"optimizer", makers_.optimizer.empty() ? plan_.optimizer.name : "own"},
          {"optimizer_options", plan_.optimizer.options},
          {"schedule", schedule_->state()},
          {"scaler", scaler_.state()},
          {"callbacks", std::move(callbacks)},
          {"seed", plan_.seed},
          {"data_seed", plan_.data.seed},
          {"samples_per_round", data_pace().round},
          {"ranks_with_files", ranks_with_files(plan_)},
          {"places", places_in_own_files()},
          {"stream", plan_.data.stream ? plan_.data.stream->identity : ""},
          {"global_batch", plan_.batch.global_train},
          {"token_types", plan_.data.gives_token_types()},
          {"world_size", communicator_.world_size()}};
}

DataPace Trainer::data_pace() const {
  const int64_t parts = plan_.data.split_batches ? 1 : communicator_.world_size();
  return {.round = plan_.batch.per_device_train * parts,
          .update = plan_.batch.global_train,
          .by_updates = data::sampling_named(plan_.data.sampling) == data::Sampling::kBatchRebalance};
}

checkpoint::CheckpointContents Trainer::checkpoint_contents() {
  state_.train_seconds = whole_training_seconds();
  state_.update_seconds = update_seconds_before_ + training_seconds();
  // The best may be that of the save before: the end of an epoch is evaluated behind the save of its last update.
  const bool evaluated_behind =
      state_.best_step == last_saved_step_ && state_.best_step != state_.best_checkpoint_step;
  if (state_.best_metric && (state_.best_step == state_.global_step || evaluated_behind)) {
    const bool is_where_it_began = state_.best_step == start_step_ && !plan_.saving.resume_from.empty();
    state_.best_checkpoint = is_where_it_began ? plan_.saving.resume_from
                                               : storage::checkpoint_path(plan_.output_dir, state_.best_step);
    state_.best_checkpoint_step = state_.best_step;
  }
  checkpoint::CheckpointContents contents;
  contents.step = state_.global_step;
  contents.training_state = training_state();
  if (speaks())
    contents.trainer_state =
        trainer_state_text(plan_, state_, log_->history(), control_, callbacks_, context_.environment);
  contents.next_rate = schedule_->rate();
  contents.rank_state = {runtime::capture_random_state(*context_.device_runtime, context_.device),
                         losses_.sum().item<float>()};
  return contents;
}

void Trainer::save_checkpoint() {
  finish_save();     // one at a time: the next one waits for it
  agree_on_flags();  // its on_save may have asked to stop, and how this one is saved goes by that
  const double begin = monotonic_seconds();
  {
    const PhaseClock::Span span = clock_.span("save");
    const checkpoint::CheckpointContents contents = checkpoint_contents();
    control_at_save_ = control_;
    const auto retention = [this, step = contents.step, best = best_checkpoint_step()] {
      apply_retention(storage::RetentionMoment::kAfterSave, step, best);
    };
    // The last save has no training beside it: it needs no copy, and no thread that gives way to others.
    const bool goes_on = stop_ == StopSignal::kNone && !control_.should_training_stop &&
                         state_.global_step < plan_.steps.max_steps;
    if (plan_.saving.asynchronous && goes_on) {
      checkpointer_->begin_save(contents, retention);
    } else {
      checkpointer_->save(contents, retention);
    }
  }
  last_saved_step_ = state_.global_step;
  save_ = {begin, monotonic_seconds() - begin, state_};
  if (!checkpointer_->saving()) announce_checkpoint();
}

void Trainer::advance_save(const StepSync& all) {
  if (!checkpointer_->saving() || all.saves_at_rest < communicator_.world_size()) return;
  const double begin = monotonic_seconds();
  const PhaseClock::Span span = clock_.span("save");
  const bool committed = checkpointer_->advance_save().has_value();
  save_.stall_seconds += monotonic_seconds() - begin;
  if (committed) announce_checkpoint();
}

void Trainer::finish_save() {
  if (!checkpointer_->saving()) return;
  const double begin = monotonic_seconds();
  const PhaseClock::Span span = clock_.span("save");
  checkpointer_->finish_save();
  save_.stall_seconds += monotonic_seconds() - begin;
  announce_checkpoint();
}

void Trainer::announce_checkpoint() {
  const bool of_another = control_.should_save && save_.state.global_step != state_.global_step;
  control_.should_save = false;  // as the Trainer's handler, before anybody is told
  for (const auto& callback : callbacks_) callback->on_save(save_.state, control_);
  if (of_another) control_.should_save = true;
  if (!speaks()) return;
  Json event = {{"step", save_.state.global_step},
                {"path", storage::checkpoint_path(plan_.output_dir, save_.state.global_step)},
                {"seconds", monotonic_seconds() - save_.begin}};
  if (plan_.saving.asynchronous) event["stall_seconds"] = save_.stall_seconds;
  events_.send(plan::WorkerEvent::Kind::kCheckpoint, std::move(event));
}

std::optional<int64_t> Trainer::best_checkpoint_step() const {
  return state_.best_checkpoint.empty() ? std::nullopt : std::optional(state_.best_checkpoint_step);
}

// Also called by the thread of a save in the background: touches nothing that training changes.
void Trainer::apply_retention(storage::RetentionMoment moment, int64_t newest_verified,
                              std::optional<int64_t> best) {
  if (!keeps_folder()) return;
  for (const std::string& warning : storage::remove_trash(files_, plan_.output_dir))
    events_.message(LogLevel::kWarning, warning);
  if (!plan_.saving.total_limit) return;
  const storage::OlderCheckpoints found = storage::try_to_list(plan_.output_dir);
  if (!found.warning.empty()) events_.message(LogLevel::kWarning, found.warning);
  std::vector<int64_t> steps;
  for (const storage::CheckpointInfo& checkpoint : found.checkpoints) steps.push_back(checkpoint.step);
  for (const int64_t step :
       storage::plan_retention(steps, best, newest_verified, plan_.saving.total_limit, moment)) {
    const std::string path = storage::checkpoint_path(plan_.output_dir, step);
    if (speaks()) {
      events_.message(LogLevel::kInfo,
                      "Deleting older checkpoint [" + path + "] due to args.save_total_limit");
    }
    const std::string warning = storage::delete_checkpoint(files_, {step, path});
    if (!warning.empty()) events_.message(LogLevel::kWarning, warning);
  }
}

}  // namespace hftrain::trainer
