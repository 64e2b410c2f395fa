// One logged record, everywhere it belongs: the history, the console (through the launcher) and every
// sink.
#pragma once

#include <memory>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/log_history.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Only rank 0 has a history and sinks and sends events.
class RunLog {
 public:
  // `state` must outlive the object. `history`: what the run had logged before it was resumed.
  RunLog(const plan::RunPlan& plan, int rank, const State& state, reporting::LogHistory history,
         EventChannel& events, const Logger& logger);

  // Adds the epoch and records at the state's current step.
  void record(Json metrics);
  void flush();
  const reporting::LogHistory& history() const { return history_; }

 private:
  const State& state_;
  reporting::LogHistory history_;
  EventChannel& events_;
  bool speaks_;
  std::vector<std::unique_ptr<reporting::RecordSink>> sinks_;
};

}  // namespace hftrain::trainer
