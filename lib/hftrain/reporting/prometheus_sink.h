// hftrain/metrics.prom: the newest value of every metric, as the textfile collector of Prometheus' node_exporter
// reads it. Format: prometheus.io/docs/instrumenting/exposition_formats
#pragma once

#include <map>
#include <string>

#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// The whole file is replaced when the records that wait have been taken, so that a reader sees one or the other. Gauges hftrain_<metric> with
// the label `run` (--run_name, else the output folder's name), hftrain_step, hftrain_epoch,
// hftrain_last_record_seconds (Unix time) and hftrain_running. Texts are left out.
class PrometheusSink final : public RecordSink {
 public:
  PrometheusSink(std::string path, const ReportedRun& run);
  void record(const LogRecord& record) override;
  void flush() override;
  void end(RunEnd how) override;

 private:
  void set(const std::string& metric, double value);

  std::string path_, label_;
  std::map<std::string, std::string> values_;  // name -> number as text
};

}  // namespace hftrain::reporting
