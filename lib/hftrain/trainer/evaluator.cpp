#include "hftrain/trainer/evaluator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/plan/release_habits.h"
#include "hftrain/reporting/console_text.h"
#include "hftrain/reporting/python_text.h"
#include "hftrain/tasks/task_table.h"
#include "hftrain/trainer/evaluation_loss.h"
#include "hftrain/trainer/label_counts.h"
#include "hftrain/trainer/sampler_options.h"
#include "hftrain/trainer/step_sync.h"

namespace hftrain::trainer {
namespace {

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

// Joins what every rank has of its batches, all ranks having the same number: [W, batches, 3].
at::Tensor gather(comm::Communicator& communicator, at::Tensor own) {
  own = own.to(communicator.device());
  at::Tensor all = at::empty({communicator.world_size(), own.size(0), own.size(1)}, own.options());
  communicator.all_gather(all, own);
  return all.cpu();
}

// Of one round, in rank order, as in the Trainer: a rank's loss is its own token sum over the mean count of the ranks that have a
// batch, so that the mean over these is the token mean. Without a label it is 0 there, and those of the others are the more, whether
// or not their samples are behind the last one. Nothing of a rank that has no loss, and where no rank has a label.
std::vector<std::optional<float>> losses_of_round(const at::TensorAccessor<float, 3>& all, int64_t round) {
  const int64_t world = all.size(0);
  double weights = 0, ranks = 0;
  for (int64_t rank = 0; rank < world; ++rank) {
    weights += all[rank][round][1];
    ranks += all[rank][round][2];
  }
  std::vector<std::optional<float>> losses(static_cast<size_t>(world));
  for (int64_t rank = 0; rank < world && weights > 0; ++rank) {
    if (all[rank][round][2] == 0) continue;
    const double weight = all[rank][round][1];
    const double loss = weight > 0 ? all[rank][round][0] * (weight * ranks / weights) : 0;
    losses[static_cast<size_t>(rank)] = static_cast<float>(loss);
  }
  return losses;
}

// Ranks decide by them over checkpoints and the end of training, together. Bit for bit, what is no number included.
metrics::MetricResults of_first_rank(comm::Communicator& communicator, const metrics::MetricResults& own) {
  if (communicator.world_size() == 1) return own;
  Json numbers = Json::array();
  for (const auto& [name, value] : own) numbers.push_back({name, std::bit_cast<int64_t>(value)});
  metrics::MetricResults first;
  for (const Json& number : Json::parse(communicator.all_gather_text(numbers.dump()).front()))
    first.emplace_back(number.at(0).get<std::string>(), std::bit_cast<double>(number.at(1).get<int64_t>()));
  return first;
}

}  // namespace

Evaluator::Evaluator(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
                     comm::Communicator& communicator, EventChannel& events,
                     models::ObjectiveMaker make_objective, PredictionStep own_step)
    : plan_(plan),
      model_(model),
      runner_(runner),
      communicator_(communicator),
      events_(events),
      make_objective_(std::move(make_objective)),
      own_step_(std::move(own_step)) {
  if (!plan.evaluation.generation.is_null()) writer_.emplace(plan, model, runner, communicator);
}

// Sharded parameters are gathered by all ranks together, so every rank goes through as many rounds as the one
// with most batches. One without a batch in a round (possible without even_batches) computes another and does
// not count it.
StopSignal Evaluator::collect(const EvaluationRequest& request, ScorerExchange* scorers, Losses& losses) {
  const at::NoGradGuard no_grad;
  std::optional<OutputCollector> collector;
  if (scorers != nullptr) collector.emplace(plan_.evaluation, plan_.data.padding.on_left, scorers->own());
  const int64_t rounds_of_piece = std::max<int64_t>(1, tasks::kSamplesOfPiece / samples_of_round());
  std::unique_ptr<BatchLoader> of_split = first_to_last(request);
  const int64_t rounds = communicator_.maximum(of_split->batches().value());
  losses.means = at::zeros({rounds}, at::TensorOptions(model_.options().device).dtype(at::kFloat));
  const std::unique_ptr<BatchSource> loader = shown(std::move(of_split), request);
  StopPoll stop(communicator_);
  double reported = monotonic_seconds();
  for (int64_t round = 0; round < rounds; ++round) {
    if (const StopSignal seen = stop.look(); seen != StopSignal::kNone) return seen;
    const BatchLoss loss = next_loss(*loader, request, round, collector ? &*collector : nullptr);
    if (loss.mean.defined()) losses.means.select(0, round).copy_(loss.mean.reshape({}));
    losses.shares.push_back(loss.share);
    if (request.after_batch) request.after_batch();
    if (scorers != nullptr && (round + 1) % rounds_of_piece == 0) scorers->hand_on();
    if (monotonic_seconds() - reported > 0.2) {
      reported = monotonic_seconds();
      events_.send(plan::WorkerEvent::Kind::kProgress,
                   {{"phase", request.prefix}, {"done", round + 1}, {"total", rounds}});
      if (scorers != nullptr) show_running_metrics(*scorers, losses.shares, rounds);
    }
  }
  if (collector) {
    collector->finish();
    scorers->hand_on();
    show_running_metrics(*scorers, losses.shares, rounds);
  }
  return StopSignal::kNone;
}

// --batch_eval_metrics. Of rank 0's own batches, unless those of all go in pieces: the others' are not known
// before the end. Without a label they would be of nothing, as those of the whole split.
void Evaluator::show_running_metrics(const ScorerExchange& scorers, const std::vector<LossShare>& shares,
                                     int64_t rounds) {
  if (!plan_.evaluation.shows_running_metrics || communicator_.rank() != 0) return;
  const bool labelled =
      std::any_of(shares.begin(), shares.end(), [](const LossShare& share) { return share.losses > 0; });
  if (!labelled && !scorers.widest().judges_by_itself()) return;
  std::string text = "after batch " + std::to_string(shares.size()) + " of " + std::to_string(rounds) +
                     (scorers.sees_all() ? ":" : " of rank 0:");
  for (const auto& [name, value] : scorers.widest().results())
    text += ' ' + name + ' ' + reporting::python_general(value, 4);
  events_.message(LogLevel::kInfo, text);
}

std::unique_ptr<BatchLoader> Evaluator::first_to_last(const EvaluationRequest& request) const {
  const data::SamplerOptions sampler = evaluation_sampler(plan_, communicator_, *request.dataset);
  BatchLoader::Options options = BatchLoader::of_plan(plan_.data, model_.options().device);
  options.length_group = sampler.length_group;
  auto loader = std::make_unique<BatchLoader>(ordered_rounds(request.dataset, sampler, Reads::kOwn),
                                              request.collator, options);
  loader->seek({});
  return loader;
}

LoadedBatch Evaluator::filler(const EvaluationRequest& request) const {
  data::SamplerOptions sampler = evaluation_sampler(plan_, communicator_, *request.dataset);
  sampler.even_batches = true;
  BatchLoader loader(request.dataset, request.collator, sampler, /*prefetch=*/0, /*pin_memory=*/false);
  loader.seek({});
  return loader.next().value();
}

std::unique_ptr<BatchSource> Evaluator::shown(std::unique_ptr<BatchLoader> loader,
                                              const EvaluationRequest& request) {
  if (!request.own_loader) return loader;
  return own_evaluation_batches(std::move(loader), request.own_loader);
}

Evaluator::BatchLoss Evaluator::next_loss(BatchSource& loader, const EvaluationRequest& request,
                                          int64_t round, OutputCollector* collector) {
  at::Tensor output;
  if (const std::optional<LoadedBatch> batch = loader.next()) {
    const BatchLoss loss = loss_of(*batch, output);
    const int64_t rows = rows_that_count(*batch, request.dataset->size(), round);
    if (collector) collector->add(*batch, output, rows, loss.mean);
    return loss;
  }
  loss_of(filler(request), output);
  return {};
}

void Evaluator::rehearse(const EvaluationRequest& request) {
  const at::NoGradGuard no_grad;
  const bool was_training = model_.training();
  const std::unique_ptr<BatchSource> loader = shown(first_to_last(request), request);
  model_.train(false);
  next_loss(*loader, request, 0, nullptr);
  model_.train(was_training);
}

// Samples are dealt out round by round and rank by rank; what comes behind the last one are repeated ones.
int64_t Evaluator::rows_that_count(const LoadedBatch& batch, int64_t samples, int64_t round) const {
  const int64_t first =
      round * samples_of_round() + communicator_.rank() * samples_of_round() / communicator_.world_size();
  return std::clamp<int64_t>(samples - first, 0, static_cast<int64_t>(batch.samples.size()));
}

// Of all ranks.
int64_t Evaluator::samples_of_round() const {
  return plan_.batch.per_device_eval * (plan_.data.split_batches ? 1 : communicator_.world_size());
}

// Where no column is named a label (--label_names without names), nothing is.
bool Evaluator::labelled(const models::Batch& columns) const {
  const auto& names = plan_.evaluation.label_columns;
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return column_of(columns, name).defined();
  });
}

// The Seq2SeqTrainer takes a model's own mean where it generates.
bool Evaluator::judges_batches_alone() const {
  const bool generates = writer_ && model_.architecture().head() == architectures::Head::kSeq2SeqLm;
  return generates || tasks::row_of(plan_.data.task).judges_batches_alone ||
         plan::ReleaseHabits{plan_.release}.evaluates_batch_means();
}

// What the summed loss of a batch is divided by.
int64_t Evaluator::labels_of(const models::Batch& columns) const {
  const models::Batch& host = models::on_host(columns);  // a device would have to be waited for
  const bool causal = model_.architecture().head() == architectures::Head::kCausalLm;
  if (causal && judges_batches_alone()) return models::predicted_label_count(host);
  return counted_labels(plan_, model_.architecture(), host);
}

Prediction Evaluator::predict(const models::Batch& columns, bool with_loss) {
  using tasks::OutputForm;
  const OutputForm form = plan_.evaluation.outputs;
  if (!with_loss) {
    const bool best = form == OutputForm::kBestIds;
    return {
        .loss = {},
        .output =
            model_.forward(columns, runner_, best ? models::best_ids_only() : models::logits_only()).logits};
  }
  const auto tokens = static_cast<float>(labels_of(columns));
  const at::Tensor divisor =
      at::scalar_tensor(tokens, at::TensorOptions().dtype(at::kFloat).device(model_.options().device));
  const models::Objective objective = make_objective_(model_.architecture(), columns,
                                                      {.num_items = divisor,
                                                       .label_smoothing = plan_.optimizer.label_smoothing,
                                                       .by_probability = plan_.optimizer.loss_by_probability,
                                                       .want_logits = form == OutputForm::kScores,
                                                       .want_best_ids = form == OutputForm::kBestIds});
  models::Output given = model_.forward(columns, runner_, objective);
  return {.loss = std::move(given.loss), .output = std::move(given.logits)};
}

// What the plan keeps of the output goes to `output`. Texts are written beside the pass that gives the loss, as in the
// Trainer.
Evaluator::BatchLoss Evaluator::loss_of(const LoadedBatch& batch, at::Tensor& output) {
  const models::Batch columns = on_device(batch.tensors, model_.options().device);
  const bool with_loss = labelled(batch.tensors);
  if (writer_) output = writer_->write(batch);
  if (writer_ && !with_loss) return {};
  const auto compute = [&](const models::Batch& given) { return predict(given, with_loss); };
  Prediction made = own_step_ ? own_step_(columns, compute) : compute(columns);
  if (!writer_) output = std::move(made.output);
  if (!with_loss) return {};
  const auto labels = static_cast<float>(labels_of(columns));
  if (!weighs_by_labels() && labels == 0) return {};
  return {made.loss, {weighs_by_labels() ? labels : 1, 1}};
}

// Beside the batches of other ranks; otherwise all count alike.
bool Evaluator::weighs_by_labels() const {
  return models::weighs_by_labels(model_.architecture()) && plan_.batch.average_tokens_across_devices &&
         !judges_batches_alone();
}

std::optional<double> Evaluator::mean_loss(const Losses& own, int64_t samples) {
  const at::Tensor means = own.means.cpu();
  at::Tensor mine = at::empty({static_cast<int64_t>(own.shares.size()), 3}, at::kFloat);
  auto rows = mine.accessor<float, 2>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const LossShare& share = own.shares[static_cast<size_t>(i)];
    rows[i][0] = means.const_data_ptr<float>()[i];
    rows[i][1] = share.weight;
    rows[i][2] = share.losses;
  }
  const at::Tensor all = gather(communicator_, mine);
  // A slice of a split batch counts by its samples like any batch of a rank.
  const int64_t parts = plan_.data.split_batches ? communicator_.world_size() : 1;
  EvaluationLoss loss(samples, plan_.batch.per_device_eval / parts);
  for (int64_t round = 0; round < all.size(1); ++round)
    loss.add(losses_of_round(all.accessor<float, 3>(), round));
  if (all.select(2, 1).sum().item<float>() == 0) return std::nullopt;
  return loss.mean();
}

Json Evaluator::speeds(const std::string& prefix, int64_t samples, double seconds) const {
  const int64_t round = samples_of_round();
  const int64_t steps = (samples + round - 1) / round;
  return {{prefix + "_runtime", rounded(seconds, 4)},
          {prefix + "_samples_per_second", rounded(static_cast<double>(samples) / seconds, 3)},
          {prefix + "_steps_per_second", rounded(static_cast<double>(steps) / seconds, 3)}};
}

Evaluation Evaluator::run(const EvaluationRequest& request) {
  const bool was_training = model_.training();
  const double begin = monotonic_seconds();
  const int64_t samples = request.dataset->size();
  if (communicator_.rank() == 0) {
    events_.message(LogLevel::kInfo,
                    reporting::evaluation_header(request.prefix == "eval" ? "Evaluation" : "Prediction",
                                                 samples, plan_.batch.per_device_eval));
  }
  Losses losses;
  std::optional<ScorerExchange> scorers;
  if (request.make_scorer)
    scorers.emplace(communicator_, request.make_scorer, request.place ? &*request.place : nullptr);
  model_.train(false);
  const StopSignal stop = collect(request, scorers ? &*scorers : nullptr, losses);
  model_.train(was_training);
  if (stop != StopSignal::kNone) return {nullptr, stop, nullptr};
  Evaluation evaluation{Json::object(), stop, nullptr};
  const std::optional<double> loss = mean_loss(losses, samples);
  if (loss) evaluation.metrics[request.prefix + "_loss"] = *loss;
  if (scorers) evaluation.scorer = scorers->finish();
  if (evaluation.scorer && (loss || evaluation.scorer->judges_by_itself())) {
    metrics::MetricResults results = evaluation.scorer->results();
    if (request.own_metrics) results = of_first_rank(communicator_, results);
    for (const auto& [key, value] : results) evaluation.metrics[request.prefix + '_' + key] = value;
  }
  evaluation.metrics.update(speeds(request.prefix, samples, monotonic_seconds() - begin));
  return evaluation;
}

}  // namespace hftrain::trainer
