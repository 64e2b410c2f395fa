// hftrain/log.jsonl: one JSON object per line with step, epoch, time and the metrics, unrounded.
#pragma once

#include <string>

#include "hftrain/base/file.h"
#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// Appends. Records that an earlier attempt logged past the step it is resumed from stay in the file; those of
// the resumed run follow, so for equal steps the later line counts. A line that a killed attempt left
// unfinished is closed off and stays alone. Non-finite numbers are NaN, Infinity and -Infinity, as Python
// writes and reads them.
class JsonlSink final : public RecordSink {
 public:
  // Creates missing folders.
  explicit JsonlSink(const std::string& path);
  void record(const LogRecord& record) override;
  void flush() override {}  // every record is written at once
  void close() override { file_.reset(); }

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace hftrain::reporting
