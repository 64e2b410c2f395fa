// A tracker: gets every record that the run logs, beside those of --report_to.
#pragma once

#include <cstdint>

#include "hftrain/plugin/run.h"

namespace hftrain::plugin {

struct Record {
  int64_t step = 0;
  double epoch = 0;
  double time = 0;  // Unix seconds
  Metrics metrics;  // without step, epoch and time
};

enum class End { kFinished, kStopped, kFailed };

// Begun on rank 0 alone, on a thread of its own, which makes all its calls: it may wait, for a disk or a server, and what it
// throws costs the run no more than a warning. One that is far behind gets no more records.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void record(const Record& record) = 0;
  // Nothing more waits to be recorded just now.
  virtual void flush() {}
  // After the last record. Destroyed without it: it got no more records, for it threw or was far behind, or the run was lost.
  virtual void end(End) {}
};

}  // namespace hftrain::plugin
