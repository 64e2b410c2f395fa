#include "hftrain/trainer/run_log.h"

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/reporting/csv_sink.h"
#include "hftrain/reporting/jsonl_sink.h"
#include "hftrain/reporting/tensorboard_sink.h"

namespace hftrain::trainer {
namespace {

std::unique_ptr<reporting::RecordSink> make_sink(const std::string& name, const plan::RunPlan& plan,
                                                 const Logger& logger) {
  const std::string folder = plan.output_dir + "/hftrain/";
  if (name == "jsonl") return std::make_unique<reporting::JsonlSink>(folder + "log.jsonl");
  if (name == "csv") return std::make_unique<reporting::CsvSink>(folder + "log.csv");
  if (name == "tensorboard") {
    const double now = unix_seconds();
    auto sink = std::make_unique<reporting::TensorBoardSink>(plan.logging.tensorboard_dir, now, logger);
    sink->text("args", plan.logging.arguments_json, now);
    sink->text("model_config", dump_json(plan.model.config), now);
    return sink;
  }
  throw Error(ExitCode::kInternal, "no sink for the tracker '" + name + "'");
}

}  // namespace

RunLog::RunLog(const plan::RunPlan& plan, int rank, const State& state, reporting::LogHistory history,
               EventChannel& events, const Logger& logger)
    : state_(state), history_(std::move(history)), events_(events), speaks_(rank == 0) {
  if (!speaks_) return;
  sinks_.push_back(make_sink("jsonl", plan, logger));
  for (const std::string& name : plan.logging.report_to) {
    if (name != "jsonl") sinks_.push_back(make_sink(name, plan, logger));
  }
}

void RunLog::record(Json metrics) {
  if (!speaks_) return;
  reporting::LogRecord record{state_.global_step, state_.epoch, unix_seconds(), std::move(metrics)};
  Json entry = record.metrics;
  entry["epoch"] = record.epoch;
  entry["step"] = record.step;
  history_.add(entry);
  events_.send(plan::WorkerEvent::Kind::kLog, {{"record", std::move(entry)}});
  for (const auto& sink : sinks_) sink->record(record);
}

void RunLog::flush() {
  for (const auto& sink : sinks_) sink->flush();
}

}  // namespace hftrain::trainer
