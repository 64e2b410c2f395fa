// Runs the model over a split without gradients and makes metrics of it. Memory does not grow with the split:
// two numbers a batch are kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/data/dataset.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/unit_runner.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/stop_request.h"

namespace hftrain::trainer {

struct Evaluation {
  Json metrics;  // the same on all ranks; null when it was stopped
  StopSignal stop = StopSignal::kNone;
};

// Collective: all ranks call run() together. Uses the model of the trainer and leaves it in the mode it was
// in.
class Evaluator {
 public:
  Evaluator(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
            comm::Communicator& communicator, EventChannel& events,
            std::shared_ptr<const data::Collator> collator);

  // {<prefix>_loss, <prefix>_runtime, <prefix>_samples_per_second, <prefix>_steps_per_second}. A stop signal
  // seen by any rank ends it early on all.
  Evaluation run(std::shared_ptr<const data::Dataset> split, const std::string& prefix);

  // One batch of the split on every rank, for what it takes; its loss is dropped.
  void rehearse(const std::shared_ptr<const data::Dataset>& split);

 private:
  // A loss over some tokens.
  struct BatchLoss {
    float mean = 0;
    float tokens = 0;
  };
  StopSignal collect(const std::shared_ptr<const data::Dataset>& split, const std::string& prefix,
                     std::vector<BatchLoss>& losses);
  BatchLoss loss_of(const LoadedBatch& batch);
  // Of the loader's next batch; of none it computes another, which does not count.
  BatchLoss next_loss(BatchLoader& loader, const std::shared_ptr<const data::Dataset>& split);
  double mean_loss(const std::vector<BatchLoss>& own, int64_t samples);

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  comm::Communicator& communicator_;
  EventChannel& events_;
  std::shared_ptr<const data::Collator> collator_;
};

}  // namespace hftrain::trainer
