#include "hftrain/trainer/run_log.h"

#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/reporting/reporters.h"

namespace hftrain::trainer {
namespace {

// A server may need some; whoever stops a run has asked for its end.
constexpr double kSecondsAtTheEnd = 10, kSecondsAfterStop = 2;

reporting::ReportedRun reported_run(const plan::RunPlan& plan, const Environment& environment) {
  return {.output_dir = plan.output_dir,
          .tensorboard_dir = plan.logging.tensorboard_dir,
          .name = plan.logging.run_name,
          .project = plan.logging.project,
          .hftrain_version = plan.hftrain_version,
          .started = unix_seconds(),
          .arguments = plan.logging.arguments_json,
          .model_config = plan.model.config,
          .parameters = plan.model.parameters,
          .environment = environment};
}

}  // namespace

RunLog::RunLog(const plan::RunPlan& plan, const runtime::WorkerContext& context, const State& state,
               reporting::LogHistory history, EventChannel& events,
               const std::vector<FurtherReporter>& further)
    : state_(state), history_(std::move(history)), events_(events) {
  if (context.place.rank != 0) return;
  file_.emplace(plan.output_dir + "/hftrain/log.jsonl");
  const reporting::ReportedRun run = reported_run(plan, context.environment);
  const auto tell = [&events](const std::string& text) { events.message(LogLevel::kWarning, text); };
  for (const std::string& name : plan.logging.report_to) {
    if (name == "jsonl") continue;  // that is the file above
    const reporting::ReporterRow& row = reporting::reporter(name);
    trackers_.push_back(std::make_unique<reporting::BackgroundReporter>(
        name, [run, begin = row.begin](const reporting::SinkHost& host) { return begin(run, host); }, tell));
  }
  for (const FurtherReporter& reporter : further) {
    trackers_.push_back(std::make_unique<reporting::BackgroundReporter>(
        reporter.name, [begin = reporter.begin](const reporting::SinkHost&) { return begin(); }, tell));
  }
}

void RunLog::record(Json metrics) {
  if (!file_) return;
  reporting::LogRecord record{state_.global_step, state_.epoch, unix_seconds(), std::move(metrics)};
  Json entry = record.metrics;
  entry["epoch"] = record.epoch;
  entry["step"] = record.step;
  history_.add(entry);
  events_.send(plan::WorkerEvent::Kind::kLog, {{"record", std::move(entry)}});
  file_->record(record);
  for (const auto& tracker : trackers_) tracker->record(record);
}

void RunLog::end(reporting::RunEnd how) {
  const double patience = how == reporting::RunEnd::kStopped ? kSecondsAfterStop : kSecondsAtTheEnd;
  for (const auto& tracker : trackers_) tracker->end(how);
  const double deadline = monotonic_seconds() + patience;
  for (const auto& tracker : trackers_) tracker->leave(deadline - monotonic_seconds());
}

}  // namespace hftrain::trainer
