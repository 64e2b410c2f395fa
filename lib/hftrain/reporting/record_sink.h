// Where logged records go, beside the console. Sinks know names and numbers, nothing of training.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "hftrain/base/environment.h"
#include "hftrain/base/json.h"

namespace hftrain::reporting {

// What a record says of itself, before its metrics.
inline constexpr std::array<std::string_view, 3> kRecordPlaces = {"step", "epoch", "time"};

// One logged record: loss and learning rate at an interval, the metrics of an evaluation, or those at the
// end.
struct LogRecord {
  int64_t step = 0;
  double epoch = 0;
  double time = 0;                // Unix seconds
  Json metrics = Json::object();  // none of them called as one of kRecordPlaces
};

// What a tracker may say of the run as a whole: its configuration.
struct ReportedRun {
  std::string output_dir;
  std::string tensorboard_dir;
  std::string name;  // --run_name; empty: none was given
  std::string project = "huggingface";
  std::string hftrain_version;
  double started = 0;     // Unix seconds
  std::string arguments;  // all of them, a JSON object as text, without secrets
  Json model_config = Json::object();
  int64_t parameters = 0;  // numbers of the model
  // Of the process. Holds the credentials of trackers: its values go into no file and no message but those that a
  // tracker's own variables name.
  Environment environment{};
};

enum class RunEnd { kFinished, kStopped, kFailed };

// What a sink may ask of whoever runs it.
struct SinkHost {
  // Tells the user, as a warning.
  std::function<void(const std::string&)> warn;
  // Waits so many seconds, or until the run ends and then for half of one; false when the sink was left behind, and
  // what it does is of no use any more.
  std::function<bool(double)> pause;
};

// A tracker: begun by its row of reporters.h with the run's configuration, then given every record, then ended. All
// of it on one thread, and not that of training (background_reporter.h): it may wait, for a disk or a server, and
// what it throws costs the run no more than a warning.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void record(const LogRecord& record) = 0;
  // Nothing more waits to be recorded just now: what was kept back to be sent together goes.
  virtual void flush() {}
  // After the last record and a flush. A sink that is destroyed without it was lost with its run.
  virtual void end(RunEnd) {}
};

}  // namespace hftrain::reporting
