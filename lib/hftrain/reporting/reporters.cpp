#include "hftrain/reporting/reporters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hftrain/base/error.h"
#include "hftrain/reporting/csv_sink.h"
#include "hftrain/reporting/mlflow_folder.h"
#include "hftrain/reporting/mlflow_server.h"
#include "hftrain/reporting/mlflow_sink.h"
#include "hftrain/reporting/prometheus_sink.h"
#include "hftrain/reporting/tensorboard_sink.h"
#include "hftrain/reporting/trackio_sink.h"
#include "hftrain/reporting/wandb_sink.h"

namespace hftrain::reporting {
namespace {

std::unique_ptr<RecordSink> begin_csv(const ReportedRun& run, const SinkHost&) {
  return std::make_unique<CsvSink>(run.output_dir + "/hftrain/log.csv");
}

std::unique_ptr<RecordSink> begin_tensorboard(const ReportedRun& run, const SinkHost& host) {
  auto sink = std::make_unique<TensorBoardSink>(run.tensorboard_dir, run.started, host.warn);
  sink->text("args", run.arguments, run.started);
  sink->text("model_config", dump_json(run.model_config), run.started);
  sink->hparams(parse_json(run.arguments, "the arguments of the run"), run.started);
  return sink;
}

std::unique_ptr<RecordSink> begin_prometheus(const ReportedRun& run, const SinkHost&) {
  return std::make_unique<PrometheusSink>(run.output_dir + "/hftrain/metrics.prom", run);
}

std::unique_ptr<RecordSink> begin_mlflow(const ReportedRun& run, const SinkHost& host) {
  const std::string uri = run.environment.get_or("MLFLOW_TRACKING_URI", "");
  const std::string folder = mlflow_folder_of(uri, run.output_dir + "/mlruns");
  std::unique_ptr<MlflowStore> store;
  if (folder.empty()) {
    store = std::make_unique<MlflowServer>(run.environment, host);
  } else {
    store = std::make_unique<MlflowFolder>(folder);
  }
  return std::make_unique<MlflowSink>(std::move(store), run, host);
}

std::unique_ptr<RecordSink> begin_wandb(const ReportedRun& run, const SinkHost&) {
  return std::make_unique<WandbSink>(run);
}

std::unique_ptr<RecordSink> begin_trackio(const ReportedRun& run, const SinkHost&) {
  return std::make_unique<TrackioSink>(trackio_store(run.environment), run);
}

constexpr ReporterRow kReporters[] = {
    {"tensorboard", begin_tensorboard}, {"wandb", begin_wandb}, {"mlflow", begin_mlflow},
    {"trackio", begin_trackio},         {"csv", begin_csv},     {"prometheus", begin_prometheus}};

}  // namespace

std::span<const ReporterRow> reporters() {
  return kReporters;
}

const ReporterRow& reporter(std::string_view word) {
  const auto* row = std::ranges::find(kReporters, word, &ReporterRow::word);
  if (row == std::end(kReporters))
    throw Error(ExitCode::kInternal, "no reporter for the tracker '" + std::string(word) + "'");
  return *row;
}

}  // namespace hftrain::reporting
