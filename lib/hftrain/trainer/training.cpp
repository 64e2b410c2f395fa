// Trainer: the loop (in the order of the Trainer's _inner_training_loop).
#include <optional>
#include <utility>
#include <vector>

#include "hftrain/base/text.h"
#include "hftrain/trainer/intervals.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/run_headers.h"

namespace hftrain::trainer {
namespace {

std::vector<LoadedBatch> next_group(BatchSource& loader, int64_t size, StepClock& clock) {
  const StepClock::Span span = clock.span("data");
  std::vector<LoadedBatch> group;
  while (static_cast<int64_t>(group.size()) < size) {
    std::optional<LoadedBatch> batch = loader.next();
    if (!batch) break;
    group.push_back(std::move(*batch));
  }
  return group;
}

}  // namespace

void Trainer::train() {
  events_.set_phase(WorkPhase::kTraining);
  train_begin_ = monotonic_seconds();
  train_seconds_before_ = state_.train_seconds;
  update_seconds_before_ = state_.update_seconds;
  if (plan_.rehearse) rehearse();
  train_begin_ = monotonic_seconds();
  memory_.begin();
  const std::unique_ptr<BatchSource> training_data = open_training_data();
  BatchSource& loader = *training_data;
  if (plan_.data.ignore_data_skip && !plan_.saving.resume_from.empty()) begin_epoch_again(loader);
  announce_start();
  model_->train(true);
  const bool at_last_step = control_.should_training_stop = state_.global_step >= plan_.steps.max_steps;
  notify(&Callback::on_train_begin);
  agree_on_flags();
  if (plan_.saving.same_run && control_.should_training_stop && !at_last_step && speaks()) tell_of_end();
  if (plan_.evaluation.on_start && state_.global_step == 0 && plan_.data.validation) {
    evaluate_and_track();  // no flag asks for it, nor for what its callbacks would like to follow
    agree_on_flags();
  }
  if (state_.evaluation_pending) {  // and the checkpoint of this step takes note of it
    last_saved_step_ = -1;
    control_.should_evaluate = control_.should_save = true;
    act_on_flags();
  }
  const auto finished = [&] {
    const bool through = !plan_.steps.limited_by_steps && state_.position.epoch >= plan_.steps.epochs;
    return through || control_.should_training_stop || stop_ != StopSignal::kNone;
  };
  // A checkpoint of the last update may be from before the end of the epoch that ends with it.
  if (at_last_step && stop_ == StopSignal::kNone && state_.in_epoch()) train_epoch(loader);
  const bool has_work = !finished();
  while (!finished()) train_epoch(loader);
  if (has_work) end_before_last_step();
  settle_update();
  clock_.set("train", training_seconds());
  for (const auto& [part, seconds] : step_clock_.seconds()) clock_.set(part, seconds);
  if (stop_ == StopSignal::kNone) {
    finish_training();
  } else {
    if (last_saved_step_ != state_.global_step) save_checkpoint();
    finish_save();
  }
}

void Trainer::tell_of_end() {
  const std::string of_early_stopping =
      plan_.evaluation.early_stopping_patience ? "a larger --early_stopping_patience goes on, or " : "";
  events_.message(
      LogLevel::kWarning,
      std::string(of_early_stopping.empty() ? "a callback" : "early stopping, or another callback,") +
          " has ended this run at step " + std::to_string(state_.global_step) +
          ", so nothing is trained: " + of_early_stopping +
          "--restore_callback_states_from_checkpoint false; --overwrite_output_dir begins anew");
}

// A run that went on with other batches may be through with its epochs before the updates it counted on: its last update has the
// evaluation and the checkpoint of one. Not where a callback has ended the run or its last epoch.
void Trainer::end_before_last_step() {
  const bool stopped = stop_ != StopSignal::kNone || control_.should_training_stop;
  if (stopped || control_.should_epoch_stop || state_.global_step >= plan_.steps.max_steps) return;
  set_flags_at_last_step(plan_, state_.global_step, control_);
  act_on_flags();
}

void Trainer::announce_start() {
  events_.message(LogLevel::kInfo, line_of_rank(plan_, communicator_.rank()));
  events_.message(LogLevel::kDebug,
                  "loaded in " + format_duration(clock_.seconds("load")) + ": " + describe_memory());
  if (!speaks()) return;
  events_.message(LogLevel::kInfo, header_of_training(plan_));
  if (!plan_.saving.resume_from.empty())
    events_.message(LogLevel::kInfo, header_of_resume(plan_, state_, data_pace().round));
}

void Trainer::train_epoch(BatchSource& loader) {
  if (!state_.position.inside()) {
    state_.position.length_group = loader.length_group();
    draw_order();
  }
  loader.seek(state_.position, drawn_order());
  control_.should_epoch_stop = false;
  if (state_.position.batch == 0) notify(&Callback::on_epoch_begin);
  agree_on_flags();
  while (!control_.should_training_stop && !control_.should_epoch_stop) {
    const std::vector<LoadedBatch> group = next_group(loader, plan_.batch.accumulation_steps, step_clock_);
    // A rank that waits for rows of a stream may hear of a stop before the others: the end of it is agreed on, too.
    if (group.empty() && !plan_.data.stream) break;
    const std::optional<StepSync> all = begin_step(group);
    if (!all) return;
    if (group.empty()) break;
    if (!train_step(group, *all, loader)) return;
  }
  const bool complete = loader.at_end(state_.position);
  if (complete || control_.should_epoch_stop) state_.position = {state_.position.epoch + 1, 0};
  state_.epoch_closed = true;
  set_flags_at_epoch_end(plan_, state_.epoch, control_);
  notify(&Callback::on_epoch_end);
  agree_on_flags();
  act_on_flags();
}

}  // namespace hftrain::trainer
