// Where runs of MLflow are kept: a folder or a server. What mlflow_sink.h needs of either.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

struct MlflowRun {
  std::string experiment = "Default";
  std::string id;        // MLFLOW_RUN_ID: the run goes on; empty: a new one
  std::string name;      // empty: the store's choice
  int64_t start_ms = 0;  // Unix time
};

struct MlflowMetric {
  std::string key;
  double value = 0;
  int64_t time_ms = 0;
  int64_t step = 0;
};
using MlflowTexts = std::vector<std::pair<std::string, std::string>>;

// Used by one thread, which may wait in it. Every failure is an Error.
class MlflowStore {
 public:
  // What a store takes at once, by the limits of MLflow's own one.
  static constexpr size_t kMostMetrics = 1000, kMostTexts = 100, kLongestParameter = 6000;

  virtual ~MlflowStore() = default;
  // True for a run that goes on, which keeps the parameters that it has.
  virtual bool begin(const MlflowRun& run) = 0;
  virtual void log_metrics(const std::vector<MlflowMetric>& metrics) = 0;
  virtual void log_parameters(const MlflowTexts& parameters) = 0;
  virtual void set_tags(const MlflowTexts& tags) = 0;
  virtual void end(RunEnd how, int64_t time_ms) = 0;
};

}  // namespace hftrain::reporting
