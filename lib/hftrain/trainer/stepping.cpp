// Trainer: one update, from what the ranks agree on before it to what is counted behind it.
#include <optional>
#include <vector>

#include "hftrain/trainer/label_counts.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/step_clock.h"
#include "hftrain/trainer/step_sync.h"

namespace hftrain::trainer {
namespace {

StepSync tokens_of(const std::vector<LoadedBatch>& group, const models::Model& model,
                   const plan::RunPlan& plan) {
  StepSync local;
  const bool with_padding = plan.logging.count_input_tokens != "non_padding";
  for (const LoadedBatch& batch : group) {
    const models::Batch& tensors = batch.tensors;
    local.label_tokens += counted_labels(plan, model.architecture(), tensors);
    const at::Tensor& input = models::main_input(tensors);
    const int64_t numbers = input.numel();
    local.samples += input.size(0);
    const bool skips = !with_padding && tensors.attention_mask.defined();
    local.main_inputs += numbers;
    local.input_tokens += skips ? tensors.attention_mask.sum().item<int64_t>() : numbers;
  }
  local.stop = StopRequest::seen();
  return local;
}

// What `numbers` of main inputs are in tokens: of images the patches that they become.
int64_t tokens_in(const plan::DataPlan& data, int64_t numbers) {
  if (!data.preprocessor) return numbers;
  return numbers / (3 * data.preprocessor->height * data.preprocessor->width) * data.block_size;
}

std::vector<int64_t> samples_of(const std::vector<LoadedBatch>& group) {
  std::vector<int64_t> samples;
  for (const LoadedBatch& batch : group)
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  return samples;
}

}  // namespace

StepSync Trainer::agree_on_step(const StepSync& local) {
  const StepClock::Span span = step_clock_.span("communication");
  return sync_step(communicator_, local);
}

std::optional<StepSync> Trainer::begin_step(const std::vector<LoadedBatch>& group) {
  StepSync local = tokens_of(group, *model_, plan_);
  local.saves_at_rest = checkpointer_->at_rest() ? 1 : 0;
  const StepSync all = agree_on_step(local);
  advance_save(all);
  stop_ = all.stop;
  if (stop_ != StopSignal::kNone) return std::nullopt;
  own_label_tokens_ = local.label_tokens;
  return all;
}

bool Trainer::train_step(const std::vector<LoadedBatch>& group, const StepSync& all,
                         const BatchSource& loader) {
  const double begin = monotonic_seconds();
  control_.should_log = control_.should_evaluate = control_.should_save = false;
  notify(&Callback::on_step_begin);
  profile_.before_update(state_.global_step + 1);
  if (overflow_watch_) overflow_watch_->set_update(state_.global_step + 1);
  untold_.push_back({state_.global_step + 1, state_.position.epoch, samples_of(group)});
  const std::optional<UpdateResult> update = update_->run(
      group, divisor_of(all), losses_, state_.global_step - state_.last_logged_step,
      {[this] { notify(&Callback::on_substep_end); }, [this] { notify(&Callback::on_pre_optimizer_step); },
       [this] { notify(&Callback::on_optimizer_step); }, [this] { empty_cache(); }});
  if (const std::string trace = profile_.after_update(state_.global_step + 1); !trace.empty() && speaks())
    events_.message(LogLevel::kInfo, "the trace of --profile_steps is in " + trace);
  state_.epoch_closed = false;
  if (update) take_note(*update);
  ++state_.global_step;
  state_.position.batch += static_cast<int64_t>(group.size());
  loader.mark(state_.position);
  state_.epoch = static_cast<double>(state_.position.epoch) + loader.share_done(state_.position);
  state_.total_flos +=
      6.0 * static_cast<double>(all.main_inputs) * static_cast<double>(plan_.model.non_embedding_parameters);
  samples_trained_ += all.samples;
  tokens_trained_ += tokens_in(plan_.data, all.input_tokens);
  throughput_.add(tokens_trained_, training_seconds());
  if (plan_.logging.count_input_tokens != "no") state_.input_tokens_seen += all.input_tokens;
  if (state_.global_step == start_step_ + 1) clock_.set("first_step", monotonic_seconds() - begin);
  after_step();
  return stop_ == StopSignal::kNone;
}

void Trainer::empty_cache() const {
  if (plan_.empty_cache_steps > 0 && state_.global_step % plan_.empty_cache_steps == 0)
    context_.device_runtime->empty_cache();
}

// The model divides a sum over its own tokens and gradients are averaged over ranks; dividing by N / W makes
// the average the mean over all tokens of the update. Of no tokens (no token of a batch was masked) the loss and
// its gradients are 0, and not 0 / 0, which would end in the parameters.
double Trainer::divisor_of(const StepSync& all) const {
  const bool average = plan_.batch.average_tokens_across_devices;
  const int64_t tokens = average ? all.label_tokens : own_label_tokens_;
  if (tokens == 0) return 1;
  return static_cast<double>(tokens) / (average ? communicator_.world_size() : 1);
}

}  // namespace hftrain::trainer
