// Where logged records go, beside the console. Sinks know names and numbers, nothing of training.
#pragma once

#include <cstdint>

#include "hftrain/base/json.h"

namespace hftrain::reporting {

// One logged record: loss and learning rate at an interval, the metrics of an evaluation, or those at the
// end.
struct LogRecord {
  int64_t step = 0;
  double epoch = 0;
  double time = 0;                // Unix seconds
  Json metrics = Json::object();  // without step, epoch and time
};

// Owned by rank 0 of the job; called from one thread. A sink that loses its disk throws Error(kDisk).
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void record(const LogRecord& record) = 0;
  // Hands everything recorded so far to the operating system, so that a killed run loses none of it.
  virtual void flush() = 0;
  // After the last record. The destructor does the same, without a word about failures.
  virtual void close() = 0;
};

}  // namespace hftrain::reporting
