// Trainer: what is logged, and what the live line shows.
#include <optional>
#include <utility>

#include "hftrain/plan/release_habits.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/trainer/notify.h"

namespace hftrain::trainer {

Json Trainer::live_facts() const {
  const bool on_cpu = context_.device.is_cpu();
  Json facts = {{"memory_bytes", on_cpu ? runtime::host_memory().resident
                                        : context_.device_runtime->memory(context_.device).allocated}};
  if (const std::optional<double> rate = throughput_.tokens_per_second()) facts["tokens_per_second"] = *rate;
  return facts;
}

Json Trainer::record(Json metrics) {
  if (plan_.logging.count_input_tokens != "no") metrics["num_input_tokens_seen"] = state_.input_tokens_seen;
  if (edit_record_) edit_record_(metrics);
  log_->record(metrics);
  control_.should_log = false;  // of an evaluation's record, too, as the Trainer has it
  notify(&Callback::on_log, with_epoch(metrics));
  return metrics;
}

Json Trainer::with_epoch(Json metrics) const {
  metrics["epoch"] = state_.epoch;
  return metrics;
}

double Trainer::training_seconds() const {
  return monotonic_seconds() - train_begin_ - clock_.seconds("eval") - clock_.seconds("save");
}

double Trainer::whole_training_seconds() const {
  return train_seconds_before_ + monotonic_seconds() - train_begin_;
}

Json Trainer::tokens_per_second(double seconds) const {
  return {{"train_tokens_per_second",
           reporting::python_round(static_cast<double>(state_.input_tokens_seen) / seconds, 3)}};
}

void Trainer::log_progress() {
  const int64_t steps = state_.global_step - state_.last_logged_step;
  if (steps <= 0) return;
  at::Tensor sum = losses_.sum().clone();
  communicator_.all_reduce(sum, comm::Reduction::kAverage);
  const double loss_sum = sum.item<float>();
  state_.logged_loss_sum += loss_sum;
  state_.last_logged_step = state_.global_step;
  losses_.reset();
  const plan::ReleaseHabits habits{plan_.release};
  const double loss = loss_sum / static_cast<double>(steps);
  Json record = {{"loss", habits.rounds_losses() ? reporting::python_round(loss, 4) : loss}};
  if (plan_.optimizer.max_grad_norm > 0 || !habits.measures_norm_only_to_clip())
    record["grad_norm"] = state_.grad_norm;
  record["learning_rate"] = habits.logs_next_rate() ? schedule_->rate() : state_.learning_rate;
  if (plan_.logging.count_input_tokens != "no") {
    const double seconds = whole_training_seconds();
    record["train_runtime"] = reporting::python_round(seconds, 4);
    record.update(tokens_per_second(seconds));
  }
  this->record(std::move(record));
}

}  // namespace hftrain::trainer
