// A tracking server of MLflow, by its REST interface (mlflow.org/docs/latest/api_reference/rest-api.html).
#pragma once

#include <string>

#include "hftrain/http/client.h"
#include "hftrain/http/credentials.h"
#include "hftrain/reporting/mlflow_store.h"

namespace hftrain::reporting {

// What the server cannot take just now (no connection, 429, 5xx) is sent again after pauses of 1 s to a minute, until
// the run is over; after some seconds of that the user hears of it, once. What no time mends is an Error at once. Credentials (MLFLOW_TRACKING_TOKEN, or _USERNAME and _PASSWORD) go to the server alone.
class MlflowServer final : public MlflowStore {
 public:
  MlflowServer(const Environment& environment, SinkHost host);
  bool begin(const MlflowRun& run) override;
  void log_metrics(const std::vector<MlflowMetric>& metrics) override;
  void log_parameters(const MlflowTexts& parameters) override;
  void set_tags(const MlflowTexts& tags) override;
  void end(RunEnd how, int64_t time_ms) override;

 private:
  Json ask(const std::string& call, const std::string& query);
  Json post(const std::string& call, const Json& message);
  Json exchange(const std::string& call, const http::Request& request);
  std::string reason_in(const http::Answer& answer) const;
  http::Answer send_until_taken(const http::Request& request);
  std::string experiment_id(const std::string& name);

  SinkHost host_;
  std::string address_, shown_;                 // of the server; as it may be shown
  std::string token_;                           // in no message, also where the server repeats it
  std::vector<http::Credentials> credentials_;  // nor are their passwords
  http::Client client_;
  std::vector<std::string> headers_;
  std::string run_id_;
  bool told_ = false;  // that it does not take anything
};

}  // namespace hftrain::reporting
