// hftrain/log.jsonl: one JSON object per line with step, epoch, time and the metrics, unrounded.
#pragma once

#include <string>

#include "hftrain/base/file.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// What a run must not lose: written by the thread that trains, whichever trackers there are.
// Appends. Records that an earlier attempt logged past the step it is resumed from stay in the file; those of
// the resumed run follow, so for equal steps the later line counts. A line that a killed attempt left
// unfinished goes. Non-finite numbers are NaN, Infinity and -Infinity, as Python
// writes and reads them.
class JsonlSink {
 public:
  // Creates missing folders.
  explicit JsonlSink(const std::string& path);
  // Every record is written at once; Error(kDisk) where it cannot be.
  void record(const LogRecord& record);

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace hftrain::reporting
