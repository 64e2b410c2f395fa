// The texts that evaluation judges (--predict_with_generate).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "hftrain/comm/communicator.h"
#include "hftrain/generation/generate.h"
#include "hftrain/models/model.h"
#include "hftrain/nn/unit_runner.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/trainer/batch_loader.h"

namespace hftrain::trainer {

// Uses the model of the trainer, which is in evaluation mode. References must outlive the object; used by one thread.
class TextWriter {
 public:
  // Of a plan whose evaluation writes texts.
  TextWriter(const plan::RunPlan& plan, models::Model& model, nn::UnitRunner& runner,
             comm::Communicator& communicator);

  // What the model writes for each row of the batch, int64 [B, T] on the CPU: what its decoder begins with, the text,
  // its end where it came to one, and -100 behind shorter ones. A text depends on its own row alone, and where it is
  // drawn on the sample's place and the plan's seed. Collective.
  at::Tensor write(const LoadedBatch& batch);

 private:
  std::vector<generation::Prompt> prompts_of(const LoadedBatch& batch) const;

  const plan::RunPlan& plan_;
  models::Model& model_;
  nn::UnitRunner& runner_;
  comm::Communicator& communicator_;
  generation::GenerationConfig config_;
};

}  // namespace hftrain::trainer
