// What a run is given beside its plan, by a plug-in or by a program of somebody else's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/base/json.h"
#include "hftrain/models/own_loss.h"
#include "hftrain/optim/schedule_factors.h"
#include "hftrain/parallel/strategy.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/trainer/callback.h"
#include "hftrain/trainer/evaluator.h"
#include "hftrain/trainer/own_batches.h"
#include "hftrain/trainer/own_metrics.h"
#include "hftrain/trainer/update.h"

namespace hftrain::trainer {

// A tracker that no word of --report_to names.
struct FurtherReporter {
  std::string name;  // for people
  std::function<std::unique_ptr<reporting::RecordSink>()> begin;
};

// Loaders around those of the run; not set: those.
struct OwnLoaders {
  MakeOwnLoader train, evaluation, test;
};

// The same on all ranks; reporters begin on rank 0 alone.
struct Extensions {
  std::string whose;    // "the plug-in 'mine'"; empty: there are none
  Callbacks callbacks;  // whose wishes ranks agree on
  std::vector<FurtherReporter> reporters;
  std::function<void(Json&)> edit_record;  // of each record before it goes anywhere; not set: it stays
  models::OwnLoss loss;                    // not set: the loss of the model's head
  TrainingStep training_step;              // not set: forward and backward
  PredictionStep prediction_step;          // not set: forward
  OwnMetrics metrics;                      // not set: those of the task alone
  OwnLoaders loaders;
  // Not set: those of the plan. An optimizer that is not made is that of the plan, too. `program`: whose they are, "the program 'mine'".
  std::string program;
  parallel::OptimizerMaker make_optimizer;
  optim::Factor rate_factor;
};

}  // namespace hftrain::trainer
