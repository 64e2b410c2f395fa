// What a run is given beside its plan, by a plug-in or by a program of somebody else's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hftrain/models/own_loss.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/trainer/callback.h"

namespace hftrain::trainer {

// A tracker that no word of --report_to names.
struct FurtherReporter {
  std::string name;  // for people
  std::function<std::unique_ptr<reporting::RecordSink>()> begin;
};

// The same on all ranks; reporters begin on rank 0 alone.
struct Extensions {
  Callbacks callbacks;  // whose wishes ranks agree on
  std::vector<FurtherReporter> reporters;
  models::OwnLoss loss;  // not set: the loss of the model's head
};

}  // namespace hftrain::trainer
