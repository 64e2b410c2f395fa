#include "hftrain/trainer/trainer.h"

#include <ATen/core/grad_mode.h>
#include <string.h>

#include <string>

#include "hftrain/data/features.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/early_stopping.h"
#include "hftrain/trainer/memory_account.h"
#include "hftrain/trainer/notify.h"

namespace hftrain::trainer {

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
      scaler_(make_scaler(plan, context.device)),
      losses_(context.device, plan.logging.nan_inf_filter),
      profile_(plan, context) {
  const PhaseClock::Span span = clock_.span("load");
  runtime::seed_generators(plan.seed, *context.device_runtime, context.device);
  model_ = make_model(plan, context.device);
  strategy_ = make_strategy(plan, *model_, communicator, told_maker(extensions));
  checkpointing_ = make_checkpointing(plan, *strategy_);
  nn::UnitRunner& inner = checkpointing_ ? *checkpointing_ : strategy_->unit_runner();
  if (plan.detect_overflow) overflow_watch_ = std::make_unique<OverflowWatch>(*model_, inner);
  nn::UnitRunner& runner = overflow_watch_ ? static_cast<nn::UnitRunner&>(*overflow_watch_) : inner;
  schedule_ = extensions.rate_factor
                  ? optim::own_schedule(plan.optimizer.learning_rate, extensions.rate_factor)
                  : make_schedule(plan);
  if (extensions.rate_factor) makers_.schedule = extensions.program;
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
        *plan.evaluation.early_stopping_patience, plan.evaluation.early_stopping_threshold,
        plan.saving.same_run));
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

parallel::OptimizerMaker Trainer::told_maker(const Extensions& extensions) {
  if (!extensions.make_optimizer) return {};
  return [this, make = extensions.make_optimizer,
          program = extensions.program](std::vector<optim::ParameterGroup> groups) {
    auto made = make(std::move(groups));
    if (made) makers_.optimizer = program;
    return made;
  };
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
  RunOutcome outcome{ExitCode::kDone, "finished", stats(), {}};
  if (stop_ != StopSignal::kNone) {
    outcome.asked_by = StopRequest::stranger();
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
