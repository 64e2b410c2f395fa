// Trainer: the loop (training_loop.md 7.2 of the contract gives the order of things).
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/nn/loss.h"
#include "hftrain/plan/release_habits.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/runtime/host_memory.h"
#include "hftrain/trainer/best_model.h"
#include "hftrain/trainer/components.h"
#include "hftrain/trainer/intervals.h"
#include "hftrain/trainer/notify.h"
#include "hftrain/trainer/run_headers.h"
#include "hftrain/trainer/sampler_options.h"
#include "hftrain/trainer/step_clock.h"
#include "hftrain/trainer/step_sync.h"
#include "hftrain/trainer/streamed_rounds.h"
#include "hftrain/trainer/trainer.h"

namespace hftrain::trainer {
namespace {

constexpr int kNonFiniteLimit = 5;  // updates in a row
// What to do about a run that diverges, by whether it has saved anything.
constexpr const char* kGoOnFromBefore =
    "the newest checkpoint is from before this: go on from it with a smaller --max_grad_norm, or start a new "
    "run "
    "from its weights (--model_name_or_path) with a lower --learning_rate or more --warmup_steps; a run that "
    "goes on keeps its learning rate";
constexpr const char* kBeginMoreGently =
    "nothing was saved before this: start again with a lower --learning_rate, more --warmup_steps or a "
    "smaller "
    "--max_grad_norm";

// `first_labels`: those of the first positions of a text count, too.
StepSync tokens_of(const std::vector<LoadedBatch>& group, const models::Model& model, bool with_padding,
                   bool first_labels) {
  StepSync local;
  const bool all = first_labels && model.architecture().head() == architectures::Head::kCausalLm;
  for (const LoadedBatch& batch : group) {
    const models::Batch& tensors = batch.tensors;
    local.label_tokens += all ? (tensors.labels != nn::kIgnoreIndex).sum().item<int64_t>()
                              : models::label_count(model.architecture(), tensors);
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

std::vector<std::string> names_of(const Json& metrics) {
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics.items()) names.push_back(name);
  return names;
}

// What `numbers` of main inputs are in tokens: of images the patches that they become.
int64_t tokens_in(const plan::DataPlan& data, int64_t numbers) {
  if (!data.preprocessor) return numbers;
  return numbers / (3 * data.preprocessor->height * data.preprocessor->width) * data.block_size;
}

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

// A run that went on with other batches may be through with its epochs before the updates it counted on: its last update has the
// evaluation and the checkpoint of one. Not where a callback has ended the run or its last epoch.
void Trainer::end_before_last_step() {
  const bool stopped = stop_ != StopSignal::kNone || control_.should_training_stop;
  if (stopped || control_.should_epoch_stop || state_.global_step >= plan_.steps.max_steps) return;
  set_flags_at_last_step(plan_, state_.global_step, control_);
  act_on_flags();
}

// As torch's RandomSampler, which takes a seed from the global generator for every epoch, after one that the loader
// draws for its worker processes; and as accelerate, which with several ranks makes one generator for all epochs.
void Trainer::draw_order() {
  const bool one_for_all = communicator_.world_size() > 1;
  if (plan_.data.seedable_sampler || (one_for_all && state_.order_seed)) return;
  const auto draw = [] { return at::empty({}, at::kLong).random_().item<int64_t>(); };
  if (!one_for_all) draw();
  const std::vector<std::string> drawn = communicator_.all_gather_text(std::to_string(draw()));
  state_.order_seed = std::stoull(drawn.front());
  state_.order_epoch = state_.position.epoch;
}

std::optional<data::DrawnOrder> Trainer::drawn_order() const {
  if (plan_.data.seedable_sampler || !state_.order_seed) return std::nullopt;
  // RandomSampler draws another permutation at the end of each pass, and takes nothing of it.
  constexpr int64_t kOfPass = 2;
  return data::DrawnOrder{*state_.order_seed, kOfPass * (state_.position.epoch - state_.order_epoch)};
}

std::unique_ptr<BatchSource> Trainer::open_training_data() {
  std::unique_ptr<BatchLoader> planned = open_planned_data();
  if (!own_loaders_.train) return planned;
  return own_training_batches(std::move(planned), own_loaders_.train, plan_, communicator_);
}

std::unique_ptr<BatchLoader> Trainer::open_planned_data() {
  const bool sends = plan_.data.dispatch_batches;
  const Reads reads = !sends ? Reads::kOwn : communicator_.rank() == 0 ? Reads::kAll : Reads::kNothing;
  BatchLoader::Options options = BatchLoader::of_plan(plan_.data, context_.device);
  if (sends) options.dispatcher = &communicator_;
  std::unique_ptr<RoundSource> rounds;
  if (plan_.data.stream) {
    auto wait = std::make_shared<DataWait>(events_, [] { return StopRequest::seen() != StopSignal::kNone; });
    // Where ranks read the same, one of them is enough to tell of it.
    const bool tells = speaks() || plan_.data.stream->by_files;
    rounds = streamed_rounds(plan_, communicator_, reads,
                             {.wait = std::move(wait), .tell = [this, tells](const std::string& remark) {
                                if (tells) events_.message(LogLevel::kWarning, remark);
                              }});
  } else {
    std::shared_ptr<const data::Dataset> dataset = open_split(*plan_.data.train);
    const data::SamplerOptions sampler = training_sampler(plan_, communicator_, *dataset);
    options.length_group = sampler.length_group;
    rounds = ordered_rounds(std::move(dataset), sampler, reads);
  }
  return std::make_unique<BatchLoader>(
      std::move(rounds), make_collator(plan_.data, *plan_.data.train, /*trains=*/true), options);
}

void Trainer::begin_epoch_again(BatchSource& loader) {
  if (own_loaders_.train && state_.position.of_other_batches) {  // it cannot be asked for that place
    state_.position = {state_.position.epoch};
    return;
  }
  loader.seek(state_.position);
  const bool through = loader.at_end(state_.position);
  if (!through && state_.global_step < plan_.steps.max_steps) state_.position = {state_.position.epoch};
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

StepSync Trainer::agree_on_step(const StepSync& local) {
  const StepClock::Span span = step_clock_.span("communication");
  return sync_step(communicator_, local);
}

std::optional<StepSync> Trainer::begin_step(const std::vector<LoadedBatch>& group) {
  StepSync local = tokens_of(group, *model_, plan_.logging.count_input_tokens != "non_padding",
                             plan::ReleaseHabits{plan_.release}.counts_first_labels());
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

void Trainer::after_step() {
  events_.step(state_.global_step, plan_.steps.max_steps,
               speaks() ? [this] { return live_facts(); } : std::function<Json()>());
  set_flags_at_step_end(plan_, state_.global_step, state_.epoch, control_);
  notify(&Callback::on_step_end);
  agree_on_flags();
  act_on_flags();
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

void Trainer::agree_on_flags() {
  if (agrees_on_flags_) control_ = sync_control(communicator_, control_);
}

std::vector<int64_t> Trainer::samples_of(const std::vector<LoadedBatch>& group) {
  std::vector<int64_t> samples;
  for (const LoadedBatch& batch : group)
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  return samples;
}

void Trainer::take_note(const UpdateResult& result) {
  state_.grad_norm = result.grad_norm;
  state_.learning_rate = result.learning_rate;
  const Untold update = std::move(untold_.front());
  untold_.pop_front();
  guard_against_divergence(result, update);
}

void Trainer::settle_update() {
  if (const std::optional<UpdateResult> last = update_->settle()) take_note(*last);
}

// The ranks' samples of an update that all of them skip, for whoever looks for the culprit in the data.
std::string Trainer::samples_text(const std::vector<int64_t>& samples) {
  constexpr size_t kShown = 32;  // of a rank
  std::string local;
  for (size_t i = 0; i < std::min(samples.size(), kShown); ++i)
    local += (local.empty() ? "" : ", ") + std::to_string(samples[i]);
  if (samples.size() > kShown) local += " and " + std::to_string(samples.size() - kShown) + " more";
  const std::vector<std::string> all = communicator_.all_gather_text(local);
  if (all.size() == 1) return local;
  std::string text;
  for (size_t rank = 0; rank < all.size(); ++rank)
    text += (rank == 0 ? "rank " : "; rank ") + std::to_string(rank) + ": " + all[rank];
  return text;
}

void Trainer::guard_against_divergence(const UpdateResult& result, const Untold& update) {
  if (!result.skipped) {
    non_finite_in_a_row_ = 0;
    return;
  }
  ++state_.skipped_updates;
  ++non_finite_in_a_row_;
  // The scaler of float16 finds its scale by overflowing; that is no sign of trouble.
  if (plan_.precision.gradient_scaler) return;
  const std::string samples = samples_text(update.samples);
  if (speaks()) {
    events_.message(LogLevel::kWarning, "update " + std::to_string(update.step) +
                                            " was skipped: the gradient norm is not finite; samples of " +
                                            "epoch " + std::to_string(update.epoch) + ": " + samples);
  }
  if (non_finite_in_a_row_ < kNonFiniteLimit) return;
  finish_save();  // it is from before this, or from an update that changed nothing
  throw Error(ExitCode::kDiverged, "training diverged: " + std::to_string(kNonFiniteLimit) +
                                       " updates in a row had gradients that are not finite")
      .where("step " + std::to_string(update.step))
      .why("a loss or a gradient is NaN or infinite")
      .hint(last_saved_step_ > 0 ? kGoOnFromBefore : kBeginMoreGently);
}

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
  control_.should_log = false;
  this->record(std::move(record));
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
