// Trainer: checkpoints, retention and what is left in the output folder.
#include <cmath>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/reporting/metrics_files.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/storage/retention.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/run_card.h"
#include "hftrain/trainer/state_file.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

}  // namespace

Json Trainer::training_state() const {
  Json callbacks = Json::object();
  for (const auto& callback : callbacks_) {
    if (!callback->state_name().empty()) callbacks[callback->state_name()] = callback->save_state();
  }
  return {{"format", 1},
          {"state", to_json_value(state_)},
          {"schedule", schedule_->state()},
          {"scaler", scaler_.state()},
          {"callbacks", std::move(callbacks)},
          {"seed", plan_.seed},
          {"data_seed", plan_.data.seed},
          {"samples_per_round", samples_per_round()},
          {"global_batch", plan_.batch.global_train},
          {"world_size", communicator_.world_size()}};
}

int64_t Trainer::samples_per_round() const {
  const int64_t parts = plan_.data.split_batches ? 1 : communicator_.world_size();
  return plan_.batch.per_device_train * parts;
}

checkpoint::CheckpointContents Trainer::checkpoint_contents() {
  state_.train_seconds = train_seconds_before_ + monotonic_seconds() - train_begin_;
  const std::string path = storage::checkpoint_path(plan_.output_dir, state_.global_step);
  if (state_.best_step == state_.global_step && state_.best_metric) {
    state_.best_checkpoint = path;
    state_.best_checkpoint_step = state_.global_step;
  }
  checkpoint::CheckpointContents contents;
  contents.step = state_.global_step;
  contents.training_state = training_state();
  if (speaks()) contents.trainer_state = trainer_state_text(plan_, state_, log_->history(), control_, callbacks_);
  contents.rank_state = {runtime::capture_random_state(*context_.device_runtime, context_.device),
                         losses_.sum().item<float>()};
  return contents;
}

void Trainer::save_checkpoint() {
  finish_save();  // one at a time: the next one waits for it
  const double begin = monotonic_seconds();
  {
    const PhaseClock::Span span = clock_.span("save");
    const checkpoint::CheckpointContents contents = checkpoint_contents();
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

void Trainer::advance_save(const Agreement& all) {
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
  for (const auto& callback : callbacks_) callback->on_save(save_.state, control_);
  if (!speaks()) return;
  log_->flush();
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
  if (!speaks()) return;
  for (const std::string& warning : storage::remove_trash(files_, plan_.output_dir))
    events_.message(LogLevel::kWarning, warning);
  if (!plan_.saving.total_limit) return;
  std::vector<int64_t> steps;
  for (const storage::CheckpointInfo& checkpoint : storage::list_checkpoints(plan_.output_dir)) {
    steps.push_back(checkpoint.step);
  }
  for (const int64_t step :
       storage::plan_retention(steps, best, newest_verified, plan_.saving.total_limit, moment)) {
    const std::string path = storage::checkpoint_path(plan_.output_dir, step);
    events_.message(LogLevel::kInfo, "Deleting older checkpoint [" + path + "] due to save_total_limit " +
                                         std::to_string(*plan_.saving.total_limit));
    const std::string warning = storage::delete_checkpoint(files_, {step, path});
    if (!warning.empty()) events_.message(LogLevel::kWarning, warning);
  }
}

void Trainer::load_best_model() {
  if (!plan_.evaluation.load_best_at_end || state_.best_checkpoint.empty()) return;
  if (speaks()) events_.message(LogLevel::kInfo, "Loading best model from " + state_.best_checkpoint);
  checkpointer_->load_model(state_.best_checkpoint);
  strategy_->parameters_changed();
}

void Trainer::finish_training() {
  finish_save();
  at::Tensor rest = losses_.sum().clone();
  communicator_.all_reduce(rest, comm::Reduction::kAverage);
  const double loss = (state_.logged_loss_sum + rest.item<float>()) /
                      std::max(static_cast<double>(state_.global_step), 0.001);
  state_.train_seconds = train_seconds_before_ + monotonic_seconds() - train_begin_;
  const double seconds = state_.train_seconds;
  Json metrics = {
      {"train_runtime", rounded(seconds, 4)},
      {"train_samples_per_second", rounded(static_cast<double>(plan_.steps.samples_for_speed) / seconds, 3)},
      {"train_steps_per_second", rounded(static_cast<double>(plan_.steps.max_steps) / seconds, 3)},
      {"total_flos", state_.total_flos},
      {"train_loss", loss}};
  log_->record(metrics);
  load_best_model();
  apply_retention(storage::RetentionMoment::kEndOfTraining, last_saved_step_, best_checkpoint_step());
  notify(&Callback::on_train_end);
  const PhaseClock::Span span = clock_.span("save");
  checkpointer_->export_model(plan_.output_dir);
  if (!speaks()) return;
  write_results("train", metrics, plan_.data.train->samples);
  write_file_atomically(plan_.output_dir + "/trainer_state.json",
                        trainer_state_text(plan_, state_, log_->history(), control_, callbacks_));
  write_file_atomically(plan_.output_dir + "/README.md", run_card(plan_, log_->history()));
}

// Outside training the whole model may compute in half precision (--bf16_full_eval, --fp16_full_eval).
Json Trainer::evaluate_in_full(const plan::SplitPlan& split, const std::string& prefix) {
  const PhaseClock::Span span = clock_.span("eval");
  const MemoryStage memory(context_, plan_.logging.memory_metrics);
  if (!plan_.precision.eval.empty()) model_->compute_in(dtype_named(plan_.precision.eval));
  Evaluation evaluation = evaluator_->run(open_split(split), prefix);
  model_->compute_in(dtype_named(plan_.precision.compute));
  stop_ = evaluation.stop;
  if (stop_ == StopSignal::kNone) memory.add_to(evaluation.metrics, prefix);
  return evaluation.metrics;
}

void Trainer::evaluate_at_end() {
  Json metrics = evaluate_in_full(*plan_.data.validation, "eval");
  if (metrics.is_null()) return;
  log_->record(metrics);
  metrics["perplexity"] = std::exp(metrics["eval_loss"].get<double>());
  if (speaks()) write_results("eval", std::move(metrics), plan_.data.validation->samples);
}

void Trainer::predict_at_end() {
  Json metrics = evaluate_in_full(*plan_.data.test, "predict");
  if (speaks() && !metrics.is_null()) write_results("predict", std::move(metrics), plan_.data.test->samples);
}

void Trainer::write_results(const std::string& split, Json metrics, int64_t samples) {
  metrics["epoch"] = state_.epoch;
  metrics[split + "_samples"] = samples;
  reporting::save_metrics(plan_.output_dir, split, metrics);
  events_.send(plan::WorkerEvent::Kind::kMessage, {{"level", static_cast<int>(LogLevel::kInfo)},
                                                   {"text", reporting::format_metrics(split, metrics)}});
}

}  // namespace hftrain::trainer
