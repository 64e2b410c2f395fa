// Trainer: what follows an update, by the flags that intervals and callbacks set.
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/trainer/best_model.h"
#include "hftrain/trainer/intervals.h"
#include "hftrain/trainer/notify.h"

namespace hftrain::trainer {
namespace {

std::vector<std::string> names_of(const Json& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.items()) names.push_back(name);
  return names;
}

}  // namespace

void Trainer::after_step() {
  events_.step(state_.global_step, plan_.steps.max_steps,
               speaks() ? [this] { return live_facts(); } : std::function<Json()>());
  set_flags_at_step_end(plan_, state_.global_step, state_.epoch, control_);
  notify(&Callback::on_step_end);
  agree_on_flags();
  act_on_flags();
}

void Trainer::agree_on_flags() {
  if (agrees_on_flags_) control_ = sync_control(communicator_, control_);
}

void Trainer::act_on_flags() {
  if (control_.should_log || control_.should_evaluate || control_.should_save) settle_update();
  if (control_.should_log) {
    log_progress();
    agree_on_flags();
  }
  if (control_.should_evaluate && !plan_.data.validation) tell_of_no_validation();
  if (control_.should_evaluate && plan_.data.validation) {
    evaluate_and_track();
    agree_on_flags();
  }
  // While gradients are not finite the parameters are suspect: the newest checkpoint is to be from before.
  const bool suspect = non_finite_in_a_row_ > 0 && !plan_.precision.gradient_scaler;
  if (control_.should_save && !suspect && last_saved_step_ != state_.global_step) {
    save_checkpoint();
    agree_on_flags();
  }
  control_.should_log = control_.should_evaluate = control_.should_save = false;
}

void Trainer::tell_of_no_validation() {
  if (others_.empty() || told_of_no_validation_ || !speaks()) return;
  told_of_no_validation_ = true;
  events_.message(LogLevel::kWarning,
                  others_ +
                      " asks for an evaluation, and there are no validation data: nothing is evaluated; name "
                      "them, with --do_eval");
}

void Trainer::evaluate_and_track() {
  Evaluation evaluation;
  {
    const PhaseClock::Span span = clock_.span("eval");
    evaluation = evaluator_->run(evaluation_request({data::Split::kValidation}, /*writes=*/false));
  }
  stop_ = evaluation.stop;
  state_.evaluation_pending = stop_ != StopSignal::kNone;
  if (state_.evaluation_pending) return;
  const Json& metrics = evaluation.metrics;
  record(metrics);
  control_.should_evaluate = false;
  notify(&Callback::on_evaluate, with_epoch(metrics));
  const plan::EvaluationPlan& wanted = plan_.evaluation;
  if (wanted.metric_for_best_model.empty()) return;
  if (!metrics.contains(wanted.metric_for_best_model)) {
    throw Error(ExitCode::kUsage, "there is no metric '" + wanted.metric_for_best_model + "'")
        .where("--metric_for_best_model")
        .why("evaluation gives " + join(names_of(metrics), ", "))
        .hint("one of these");
  }
  // The one before the first update is for people to look at: what is best is decided by those of training.
  if (state_.global_step == 0) return;
  const double value = metrics[wanted.metric_for_best_model].get<double>();
  if (schedule_->watches_metric()) schedule_->observe(value);
  const bool better = better_than(state_.best_metric, value, wanted.greater_is_better);
  if (better || !state_.best_metric)
    state_.best_metric = better ? value : worst_metric(wanted.greater_is_better);
  if (!better) return;
  if (plan_.saving.interval.strategy != "no") state_.best_step = state_.global_step;
  if (plan_.saving.interval.strategy == "best") control_.should_save = true;
}

}  // namespace hftrain::trainer
