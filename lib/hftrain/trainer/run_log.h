// One logged record, everywhere it belongs: the state's history, the console (through the launcher) and every
// sink.
#pragma once

#include <memory>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// All ranks keep the history, so that it is in every rank's state; only rank 0 has sinks and sends events.
class RunLog {
 public:
  // `state` must outlive the object.
  RunLog(const plan::RunPlan& plan, int rank, State& state, EventChannel& events, const Logger& logger);

  // Adds the epoch and records at the state's current step.
  void record(Json metrics);
  void flush();

 private:
  State& state_;
  EventChannel& events_;
  bool speaks_;
  std::vector<std::unique_ptr<reporting::RecordSink>> sinks_;
};

}  // namespace hftrain::trainer
