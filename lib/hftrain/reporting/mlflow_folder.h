// The file store of MLflow: <root>/<experiment's id>/<run's id>/ with meta.yaml, metrics/, params/ and tags/, a file
// each. Format: mlflow/store/tracking/file_store.py
#pragma once

#include <string>

#include "hftrain/reporting/mlflow_store.h"

namespace hftrain::reporting {

class MlflowFolder final : public MlflowStore {
 public:
  explicit MlflowFolder(std::string root);
  bool begin(const MlflowRun& run) override;
  void log_metrics(const std::vector<MlflowMetric>& metrics) override;
  void log_parameters(const MlflowTexts& parameters) override;
  void set_tags(const MlflowTexts& tags) override;
  void end(RunEnd how, int64_t time_ms) override;

  const std::string& run_folder() const noexcept { return run_folder_; }

 private:
  std::string experiment_id(const std::string& name, int64_t now_ms) const;
  void write_experiment(const std::string& id, const std::string& name, int64_t now_ms) const;
  void write_run(int status, const std::string& end_time) const;
  void write_texts(const char* kind, const MlflowTexts& texts) const;

  std::string root_, run_folder_, experiment_, run_id_;
  MlflowRun run_;
};

}  // namespace hftrain::reporting
