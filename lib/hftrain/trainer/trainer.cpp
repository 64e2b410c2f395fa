#include "hftrain/trainer/trainer.h"

#include <ATen/core/grad_mode.h>

#include <map>
#include <random>

#include "hftrain/base/error.h"
#include "hftrain/base/file.h"
#include "hftrain/nn/activation_checkpoint.h"
#include "hftrain/reporting/trainer_state.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/runtime/random_state.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/early_stopping.h"
#include "hftrain/trainer/memory_account.h"

namespace hftrain::trainer {

Trainer::Trainer(const plan::RunPlan& plan, runtime::WorkerContext& context, comm::Communicator& communicator,
                 EventChannel& events)
    : plan_(plan),
      context_(context),
      communicator_(communicator),
      events_(events),
      nodes_(plan),
      clock_(events),
      memory_(context, plan.logging.memory_metrics),
      scaler_(make_scaler(plan)),
      losses_(context.device, plan.logging.nan_inf_filter) {
  const PhaseClock::Span span = clock_.span("load");
  runtime::seed_generators(plan.seed, *context.device_runtime, context.device);
  model_ = make_model(plan, context.device);
  strategy_ = make_strategy(plan, *model_, communicator);
  checkpointing_ = make_checkpointing(plan, *strategy_);
  nn::UnitRunner& runner = checkpointing_ ? *checkpointing_ : strategy_->unit_runner();
  schedule_ = make_schedule(plan);
  update_ = std::make_unique<Update>(plan, *model_, runner, *strategy_, *schedule_, scaler_);
  evaluator_ = std::make_unique<Evaluator>(plan, *model_, runner, communicator, events);
  checkpointer_ = std::make_unique<checkpoint::Checkpointer>(
      plan, model_->architecture().parameters(), model_->options().parameter_dtype, *strategy_, communicator,
      files_, context.device_runtime.get(), [this](uint64_t bytes) { events_.moved(bytes); });
  if (plan.evaluation.early_stopping_patience) {
    add_callback(std::make_unique<EarlyStopping>(
        plan.evaluation.metric_for_best_model, plan.evaluation.greater_is_better,
        *plan.evaluation.early_stopping_patience, plan.evaluation.early_stopping_threshold));
  }
  load();
  const bool saves = plan.do_train && plan.saving.interval.strategy != "no";
  if (saves && plan.saving.asynchronous) checkpointer_->reserve_copy();
  log_ = std::make_unique<RunLog>(plan, communicator.rank(), state_, logged_before(), events, context.logger);
}

Trainer::~Trainer() = default;

reporting::LogHistory Trainer::logged_before() const {
  const std::string path = plan_.saving.resume_from + "/trainer_state.json";
  if (!speaks() || plan_.saving.resume_from.empty() || !path_exists(path)) return {};
  return reporting::parse_trainer_state(read_file(path), path).log_history;
}

void Trainer::load() {
  const std::string& resume_from = plan_.saving.resume_from;
  const std::string& folder = resume_from.empty() ? plan_.model.source_folder : resume_from;
  if (folder.empty()) {
    draw_initial_weights();
  } else {
    for (const std::string& name : checkpointer_->load_model(folder)) {
      if (speaks())
        events_.message(LogLevel::kWarning, "'" + name + "' of " + folder + " is not used by this model");
    }
  }
  peak_host_bytes_loading_ = runtime::host_memory().peak_resident;  // before the optimizer's state is made
  // Model creation draws numbers that a resumed run does not; both start training from the same place.
  runtime::seed_generators(plan_.seed, *context_.device_runtime, context_.device);
  const double begin = monotonic_seconds();
  strategy_->prepare();
  preparation_seconds_ = monotonic_seconds() - begin;
  if (!resume_from.empty()) resume(resume_from);
}

void Trainer::draw_initial_weights() {
  const architectures::ParameterTable& table = model_->architecture().parameters();
  std::map<std::string, size_t> positions;
  for (size_t i = 0; i < table.parameters.size(); ++i) positions[table.parameters[i].name] = i;
  models::InitialWeights weights(table,
                                 context_.device_runtime->generator(c10::Device(c10::DeviceType::CPU)));
  const at::NoGradGuard no_grad;
  strategy_->visit_parameters(
      [&](const parallel::StatePart& part) {
        at::Tensor box = weights.at(positions.at(part.parameter));
        for (size_t dim = 0; dim < part.offset.size(); ++dim) {
          const auto d = static_cast<int64_t>(dim);
          box = box.narrow(d, part.offset[dim], part.tensor.size(d));
        }
        part.tensor.copy_(box);
      },
      parallel::Access::kWrite);
}

void Trainer::resume(const std::string& checkpoint) {
  const checkpoint::CheckpointContents saved = checkpointer_->load_training_state(checkpoint);
  state_ = state_from_json(saved.training_state.at("state"));
  const int64_t round = samples_per_round();
  state_.position =
      plan_.data.ignore_data_skip
          ? DataPosition{state_.position.epoch}
          : moved_to(state_.position, saved.training_state.value("samples_per_round", round), round);
  schedule_->load_state(saved.training_state.at("schedule"));
  scaler_.load_state(saved.training_state.at("scaler"));
  losses_.restore(saved.rank_state.loss_sum);
  restore_random_streams(saved);
  if (plan_.saving.restore_callbacks) restore_callbacks(saved.training_state.at("callbacks"));
  start_step_ = last_saved_step_ = state_.global_step;
  find_best_model();
}

// A rank that the saved run did not have starts streams of its own from the seed, the step and its number.
void Trainer::restore_random_streams(const checkpoint::CheckpointContents& saved) {
  const runtime::RandomState& state = saved.rank_state.random;
  if (!state.cpu.empty()) {
    runtime::restore_random_state(state, *context_.device_runtime, context_.device);
    return;
  }
  std::seed_seq mixed{plan_.seed, static_cast<uint64_t>(saved.step),
                      static_cast<uint64_t>(communicator_.rank())};
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
  if (plan_.do_train) train();
  if (stop_ == StopSignal::kNone && plan_.evaluation.at_end) evaluate_at_end();
  if (stop_ == StopSignal::kNone && plan_.do_predict) predict_at_end();
  log_->flush();
  if (nodes_.several()) share_results();
  RunOutcome outcome{ExitCode::kDone, "finished", stats()};
  if (stop_ != StopSignal::kNone) {
    outcome.code = stop_ == StopSignal::kInterrupt ? ExitCode::kInterrupted : ExitCode::kTerminated;
    outcome.reason = stop_ == StopSignal::kInterrupt ? "interrupted" : "terminated";
  } else if (plan_.do_train && state_.global_step < plan_.steps.max_steps) {
    outcome.reason = "early stopping";
  }
  return outcome;
}

std::shared_ptr<const data::TokenDataset> Trainer::open_split(const plan::SplitPlan& split) const {
  return data::TokenDataset::open(split.cache_path);
}

std::string Trainer::describe_memory() const {
  return describe_memory_account(memory_account(plan_, context_, *strategy_));
}

Json Trainer::stats() const {
  const double seconds = clock_.seconds("train");
  const auto steps = static_cast<double>(state_.global_step - start_step_);
  const double samples = steps * static_cast<double>(plan_.batch.global_train);
  const auto rate = [&](double amount) { return seconds > 0 ? amount / seconds : 0.0; };
  const parallel::StateBytes held = strategy_->state_bytes();
  return {{"phases", clock_.to_json_value()},
          {"steps", steps},
          {"tokens_per_second", rate(samples * static_cast<double>(plan_.data.block_size))},
          {"samples_per_second", rate(samples)},
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
