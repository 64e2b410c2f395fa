// One logged record, everywhere it belongs: the history, the console (through the launcher), log.jsonl and every
// tracker.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/background_reporter.h"
#include "hftrain/reporting/jsonl_sink.h"
#include "hftrain/reporting/log_history.h"
#include "hftrain/reporting/record_sink.h"
#include "hftrain/runtime/worker_context.h"
#include "hftrain/trainer/event_channel.h"
#include "hftrain/trainer/extensions.h"
#include "hftrain/trainer/state.h"

namespace hftrain::trainer {

// Only rank 0 has a history and trackers and sends events. Used by the thread that trains.
class RunLog {
 public:
  // `state` and `events` must outlive the object. `history`: what the run had logged before it was resumed. `further`: beside the
  // trackers of the plan.
  RunLog(const plan::RunPlan& plan, const runtime::WorkerContext& context, const State& state,
         reporting::LogHistory history, EventChannel& events,
         const std::vector<FurtherReporter>& further = {});

  // Adds the epoch and records at the state's current step. Error(kDisk) when log.jsonl cannot be written;
  // trackers are not waited for.
  void record(Json metrics);
  // After the last record: trackers that are behind get some seconds. Without it they learn that the run failed.
  void end(reporting::RunEnd how);
  const reporting::LogHistory& history() const { return history_; }

 private:
  const State& state_;
  reporting::LogHistory history_;
  EventChannel& events_;
  std::optional<reporting::JsonlSink> file_;
  std::vector<std::unique_ptr<reporting::BackgroundReporter>> trackers_;
};

}  // namespace hftrain::trainer
