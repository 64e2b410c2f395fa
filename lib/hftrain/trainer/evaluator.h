// Runs the model over a split without gradients and makes metrics of it. Memory does not grow with the split:
// two numbers a batch are kept.
#pragma once

#include <memory>
#include <string>

#include "hftrain/base/json.h"
#include "hftrain/comm/communicator.h"
#include "hftrain/data/token_dataset.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/unit_runner.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/event_channel.h"

namespace hftrain::trainer {

// Collective: all ranks call run() together. Uses the model of the trainer and leaves it in the mode it was
// in.
class Evaluator {
 public:
  Evaluator(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
            comm::Communicator& communicator, EventChannel& events);

  // {<prefix>_loss, <prefix>_runtime, <prefix>_samples_per_second, <prefix>_steps_per_second}; the same on
  // all ranks.
  Json run(std::shared_ptr<const data::TokenDataset> split, const std::string& prefix);

 private:
  double mean_loss(std::shared_ptr<const data::TokenDataset> split, const std::string& prefix,
                   int64_t& batches);

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  comm::Communicator& communicator_;
  EventChannel& events_;
};

}  // namespace hftrain::trainer
