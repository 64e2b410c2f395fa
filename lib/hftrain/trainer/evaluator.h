// Runs the model over a split without gradients and makes metrics of it. Memory does not grow with the split
// beyond what the metrics keep: two numbers a batch for the loss, and the scorer's state, which goes from rank to
// rank in pieces where it is large.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/models/model.h"
#include "hftrain/models/own_loss.h"
#include "hftrain/nn/unit_runner.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/output_collector.h"
#include "hftrain/trainer/own_batches.h"
#include "hftrain/trainer/scorer_exchange.h"
#include "hftrain/trainer/stop_request.h"
#include "hftrain/trainer/text_writer.h"

namespace hftrain::trainer {

struct EvaluationRequest {
  std::shared_ptr<const data::Dataset> dataset;
  std::shared_ptr<const data::Collator> collator;
  std::string prefix;       // of the metrics: eval, predict
  ScorerMaker make_scorer;  // not set: the loss alone
  // Where files of results go, on the rank that writes them.
  std::optional<tasks::ResultPlace> place = std::nullopt;
  std::function<void()> after_batch = {};  // of run(), on every rank; not set: nobody wants to know
  MakeOwnLoader own_loader = {};           // around that of the split; not set: that
  bool own_metrics = false;  // somebody else's, which may differ from rank to rank: those of rank 0 count
};

// Of a batch whose columns are on the device.
struct Prediction {
  at::Tensor loss;    // float32 scalar; undefined: there are no labels
  at::Tensor output;  // what the plan keeps, a row for each of the batch's; undefined: nothing
};
using Predict = std::function<Prediction(const models::Batch&)>;
// What is done around it by somebody else, on all ranks alike.
using PredictionStep = std::function<Prediction(const models::Batch&, const Predict&)>;

struct Evaluation {
  Json metrics;  // the same on all ranks; null when it was stopped
  StopSignal stop = StopSignal::kNone;
  std::unique_ptr<tasks::Scorer> scorer;  // of the whole split; null where there is none, or it was stopped
};

// Collective: all ranks call run() together. Uses the model of the trainer and leaves it in the mode it was
// in.
class Evaluator {
 public:
  Evaluator(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
            comm::Communicator& communicator, EventChannel& events,
            models::ObjectiveMaker make_objective = models::loss_objective, PredictionStep own_step = {});

  // {<prefix>_loss, <prefix>_<metric of the scorer>…, <prefix>_runtime, <prefix>_samples_per_second,
  // <prefix>_steps_per_second}; of a split without labels neither a loss nor metrics. A stop signal seen by any
  // rank ends it early on all.
  Evaluation run(const EvaluationRequest& request);

  // One batch of the split on every rank, for what it takes; what it gives is dropped.
  void rehearse(const EvaluationRequest& request);

 private:
  // What the loss of one batch of this rank counts.
  struct LossShare {
    float weight = 0;  // beside those of other ranks; 0: there are no labels
    float losses = 0;  // 0: none, of no batch or of one whose loss nobody knows; else 1
  };
  struct BatchLoss {
    at::Tensor mean;  // a scalar on the device; undefined: none
    LossShare share;
  };
  // Of this rank's batches. The host reads them once, when all are handed out: a device computes the next batch meanwhile.
  struct Losses {
    at::Tensor means;  // [rounds] float32 on the device
    std::vector<LossShare> shares;
  };
  StopSignal collect(const EvaluationRequest& request, ScorerExchange* scorers, Losses& losses);
  // Of the loader's next batch, which is that of round `round`; of none it computes another, which does not
  // count.
  BatchLoss next_loss(BatchSource& loader, const EvaluationRequest& request, int64_t round,
                      OutputCollector* collector);
  BatchLoss loss_of(const LoadedBatch& batch, at::Tensor& output);
  Prediction predict(const models::Batch& columns, bool with_loss);
  // Around it the loader of somebody else, if there is one.
  static std::unique_ptr<BatchSource> shown(std::unique_ptr<BatchLoader> loader,
                                            const EvaluationRequest& request);
  // At its start, with the threads and the memory that --dataloader_num_workers and its like ask for.
  std::unique_ptr<BatchLoader> first_to_last(const EvaluationRequest& request) const;
  // The first batch of this rank, where even a rank without samples has one.
  LoadedBatch filler(const EvaluationRequest& request) const;
  Json speeds(const std::string& prefix, int64_t samples, double seconds) const;
  bool labelled(const models::Batch& columns) const;
  bool weighs_by_labels() const;
  bool judges_batches_alone() const;
  int64_t labels_of(const models::Batch& columns) const;
  // Of the batch of this rank in a round, the first ones: the rest only fills it up.
  int64_t rows_that_count(const LoadedBatch& batch, int64_t samples, int64_t round) const;
  int64_t samples_of_round() const;
  void show_running_metrics(const ScorerExchange& scorers, const std::vector<LossShare>& shares,
                            int64_t rounds);
  // Nothing where no batch had labels.
  std::optional<double> mean_loss(const Losses& own, int64_t samples);

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  comm::Communicator& communicator_;
  EventChannel& events_;
  models::ObjectiveMaker make_objective_;
  PredictionStep own_step_;
  std::optional<TextWriter> writer_;  // where texts are judged
};

}  // namespace hftrain::trainer
