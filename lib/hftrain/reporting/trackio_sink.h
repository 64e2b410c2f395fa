// Runs of Trackio, by the inbox of its local store: <store>/inbox/<writer>/<number>.jsonl, an object per record
// (trackio/fragments.py, version 1; the package from 0.28). `trackio show` takes the files into its database, each record
// once, and deletes them. So that no file is shared with the package, a network file system is as good as a disk.
#pragma once

#include <cstdint>
#include <string>

#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// Names and configuration as the Trainer's callback logs them (train/…, eval/…, test/…); what is of the whole run among
// them, so that every record is complete. The step is the number of updates. A run that goes on in its output folder
// goes on in Trackio: its id stands in hftrain/trackio_run_id there.
class TrackioSink final : public RecordSink {
 public:
  // Records come to `store` at once, or where another file is younger than `seconds_between` with the next record behind that, at
  // the end at the latest.
  TrackioSink(std::string store, const ReportedRun& run, double seconds_between = 5);
  void record(const LogRecord& record) override;
  void flush() override;
  void end(RunEnd how) override;

 private:
  void write();

  std::string folder_, lines_;  // of this writer; what was kept back
  Json head_;                   // members of every record
  Json config_;                 // of the first record; null behind it
  double seconds_between_;
  double written_ = 0;  // monotonic seconds
  int64_t files_ = 0;
};

// TRACKIO_DIR, or trackio/ in HF_HOME, as the package finds its store. Error(kEnvironment) where nothing says where.
std::string trackio_store(const Environment& environment);

}  // namespace hftrain::reporting
