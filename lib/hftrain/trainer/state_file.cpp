#include "hftrain/trainer/state_file.h"

#include "hftrain/reporting/search_trial.h"
#include "hftrain/reporting/trainer_state.h"

namespace hftrain::trainer {

std::string trainer_state_text(const plan::RunPlan& plan, const State& state,
                               const reporting::LogHistory& history, const Control& control,
                               const Callbacks& callbacks, const Environment& environment) {
  reporting::TrainerState file;
  file.best_metric = state.best_metric;
  if (state.best_step > 0) file.best_global_step = state.best_step;
  if (!state.best_checkpoint.empty()) file.best_model_checkpoint = state.best_checkpoint;
  file.epoch = state.epoch;
  file.global_step = state.global_step;
  file.eval_steps = plan.evaluation.interval.recorded_steps();
  file.logging_steps = plan.logging.interval.recorded_steps();
  file.save_steps = plan.saving.interval.recorded_steps();
  file.log_history = history;
  file.max_steps = plan.steps.max_steps;
  file.num_train_epochs = plan.steps.epochs;
  file.num_input_tokens_seen = state.input_tokens_seen;
  file.total_flos = state.total_flos;
  file.train_batch_size = plan.batch.per_device_train;
  file.stateful_callbacks["TrainerControl"] =
      reporting::control_entry({.should_epoch_stop = control.should_epoch_stop,
                                .should_evaluate = control.should_evaluate,
                                .should_log = control.should_log,
                                .should_save = control.should_save,
                                .should_training_stop = control.should_training_stop});
  for (const auto& callback : callbacks) {
    if (!callback->state_name().empty())
      file.stateful_callbacks[callback->state_name()] = callback->save_state();
  }
  if (const auto trial = reporting::told_trial(environment)) {
    file.is_hyper_param_search = true;
    file.trial_name = trial->name;
    file.trial_params = trial->parameters;
  }
  return reporting::render_trainer_state(file);
}

}  // namespace hftrain::trainer
