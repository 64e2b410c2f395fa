// Runs of MLflow, as the Trainer's callback logs them: every argument and key of the model's configuration as a
// parameter, every number of a record as a metric under its own name over the number of updates.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "hftrain/reporting/mlflow_store.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// MLFLOW_EXPERIMENT_NAME, MLFLOW_RUN_ID, MLFLOW_TAGS (a JSON object), MLFLOW_FLATTEN_PARAMS and
// MLFLOW_MAX_LOG_PARAMS count.
class MlflowSink final : public RecordSink {
 public:
  MlflowSink(std::unique_ptr<MlflowStore> store, const ReportedRun& run, SinkHost host);
  void record(const LogRecord& record) override;
  void flush() override;
  void end(RunEnd how) override;

 private:
  void log_parameters(const ReportedRun& run);

  std::unique_ptr<MlflowStore> store_;
  SinkHost host_;
  std::vector<MlflowMetric> kept_;
  std::set<std::string> warned_;
  double newest_;  // Unix seconds
};

// The folder that a tracking URI names: a path, file: and a path; for an empty one `otherwise`. Empty for a server's.
std::string mlflow_folder_of(const std::string& tracking_uri, const std::string& otherwise);

}  // namespace hftrain::reporting
