#include "hftrain/trainer/evaluator.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <cmath>

#include "hftrain/base/clock.h"
#include "hftrain/reporting/console_text.h"
#include "hftrain/trainer/evaluation_loss.h"
#include "hftrain/trainer/sampler_options.h"
#include "hftrain/trainer/step_sync.h"

namespace hftrain::trainer {
namespace {

double rounded(double value, int digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

// Joins every rank's (mean loss, tokens) pairs, all ranks having the same number: [W, batches, 2].
at::Tensor gather(comm::Communicator& communicator, at::Tensor own) {
  own = own.to(communicator.device());
  at::Tensor all = at::empty({communicator.world_size(), own.size(0), 2}, own.options());
  communicator.all_gather(all, own);
  return all.cpu();
}

// A rank's loss is its own token sum over the mean count of the ranks that have a batch, so that the mean
// over these is the token mean. Without even_batches a rank may have none in the last round.
std::vector<float> losses_of_round(const at::TensorAccessor<float, 3>& all, int64_t round) {
  const int64_t world = all.size(0);
  double tokens = 0;
  int ranks = 0;
  for (int64_t rank = 0; rank < world; ++rank) {
    tokens += all[rank][round][1];
    if (all[rank][round][1] > 0) ++ranks;
  }
  std::vector<float> losses;
  for (int64_t rank = 0; rank < world; ++rank) {
    const double count = all[rank][round][1];
    if (count == 0) continue;
    const double share = count * ranks / tokens;
    losses.push_back(static_cast<float>(all[rank][round][0] * share));
  }
  return losses;
}

}  // namespace

Evaluator::Evaluator(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
                     comm::Communicator& communicator, EventChannel& events,
                     std::shared_ptr<const data::Collator> collator)
    : plan_(plan),
      model_(model),
      runner_(runner),
      communicator_(communicator),
      events_(events),
      collator_(std::move(collator)) {}

// Sharded parameters are gathered by all ranks together, so every rank goes through as many rounds as the one
// with most batches. One without a batch in a round (possible without even_batches) computes another and does
// not count it.
StopSignal Evaluator::collect(const std::shared_ptr<const data::Dataset>& split, const std::string& prefix,
                              std::vector<BatchLoss>& losses) {
  const at::NoGradGuard no_grad;
  BatchLoader loader(split, collator_, evaluation_sampler(plan_, communicator_, *split), /*prefetch=*/0,
                     /*pin_memory=*/false);
  loader.seek({});
  const int64_t rounds = communicator_.maximum(loader.batches());
  StopPoll stop(communicator_);
  double reported = monotonic_seconds();
  for (int64_t round = 0; round < rounds; ++round) {
    if (const StopSignal seen = stop.look(); seen != StopSignal::kNone) return seen;
    losses.push_back(next_loss(loader, split));
    if (monotonic_seconds() - reported > 0.2) {
      reported = monotonic_seconds();
      events_.send(plan::WorkerEvent::Kind::kProgress,
                   {{"phase", prefix}, {"done", round + 1}, {"total", rounds}});
    }
  }
  return StopSignal::kNone;
}

Evaluator::BatchLoss Evaluator::next_loss(BatchLoader& loader,
                                          const std::shared_ptr<const data::Dataset>& split) {
  if (const std::optional<LoadedBatch> batch = loader.next()) return loss_of(*batch);
  data::SamplerOptions options = evaluation_sampler(plan_, communicator_, *split);
  options.even_batches = true;
  BatchLoader filler(split, collator_, options, /*prefetch=*/0, /*pin_memory=*/false);
  filler.seek({});
  loss_of(filler.next().value());
  return {};
}

void Evaluator::rehearse(const std::shared_ptr<const data::Dataset>& split) {
  const at::NoGradGuard no_grad;
  const bool was_training = model_.training();
  BatchLoader loader(split, collator_, evaluation_sampler(plan_, communicator_, *split), /*prefetch=*/0,
                     /*pin_memory=*/false);
  loader.seek({});
  model_.train(false);
  next_loss(loader, split);
  model_.train(was_training);
}

Evaluator::BatchLoss Evaluator::loss_of(const LoadedBatch& batch) {
  const models::Batch columns = on_device(batch.tensors, model_.options().device);
  const auto tokens = static_cast<float>(models::label_count(model_.architecture(), columns));
  const at::Tensor divisor =
      at::scalar_tensor(tokens, at::TensorOptions().dtype(at::kFloat).device(model_.options().device));
  const models::Objective objective =
      models::loss_objective(model_.architecture(), columns,
                             {.num_items = divisor, .label_smoothing = plan_.optimizer.label_smoothing});
  const at::Tensor loss = model_.forward(columns, runner_, objective).loss;
  return {loss.item<float>(), tokens};
}

double Evaluator::mean_loss(const std::vector<BatchLoss>& own, int64_t samples) {
  at::Tensor mine = at::empty({static_cast<int64_t>(own.size()), 2}, at::kFloat);
  auto rows = mine.accessor<float, 2>();
  for (int64_t i = 0; i < rows.size(0); ++i) {
    rows[i][0] = own[static_cast<size_t>(i)].mean;
    rows[i][1] = own[static_cast<size_t>(i)].tokens;
  }
  const at::Tensor all = gather(communicator_, mine);
  // A slice of a split batch counts by its samples like any batch of a rank.
  const int64_t parts = plan_.data.split_batches ? communicator_.world_size() : 1;
  EvaluationLoss loss(samples, plan_.batch.per_device_eval / parts);
  for (int64_t round = 0; round < all.size(1); ++round)
    loss.add(losses_of_round(all.accessor<float, 3>(), round));
  return loss.mean();
}

Evaluation Evaluator::run(std::shared_ptr<const data::Dataset> split, const std::string& prefix) {
  const bool was_training = model_.training();
  const double begin = monotonic_seconds();
  const int64_t samples = split->size();
  if (communicator_.rank() == 0) {
    events_.message(LogLevel::kInfo,
                    reporting::evaluation_header(prefix == "eval" ? "Evaluation" : "Prediction", samples,
                                                 plan_.batch.per_device_eval));
  }
  std::vector<BatchLoss> losses;
  model_.train(false);
  const StopSignal stop = collect(split, prefix, losses);
  model_.train(was_training);
  if (stop != StopSignal::kNone) return {nullptr, stop};
  const double loss = mean_loss(losses, samples);
  const double seconds = monotonic_seconds() - begin;
  const int64_t round = evaluation_sampler(plan_, communicator_, *split).round();
  const int64_t steps = (samples + round - 1) / round;
  return {{{prefix + "_loss", loss},
           {prefix + "_runtime", rounded(seconds, 4)},
           {prefix + "_samples_per_second", rounded(static_cast<double>(samples) / seconds, 3)},
           {prefix + "_steps_per_second", rounded(static_cast<double>(steps) / seconds, 3)}},
          StopSignal::kNone};
}

}  // namespace hftrain::trainer
