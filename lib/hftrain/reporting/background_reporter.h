// Runs one tracker beside training, which it can neither stop nor slow.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hftrain/reporting/record_sink.h"

namespace hftrain::reporting {

// A thread of its own begins the sink and gives it the records that wait in a bounded queue. A sink that throws, or
// that is so far behind that the queue is full, gets no more records: one warning says so. The thread is never
// joined: one that hangs in its sink is left behind, with all that it uses. Signals go to other threads.
class BackgroundReporter {
 public:
  using Begin = std::function<std::unique_ptr<RecordSink>(const SinkHost&)>;
  using Tell = std::function<void(const std::string&)>;

  // A server that is away from Friday evening to Monday morning costs no record of a run that logs one every three
  // seconds: 76,000, which take 49 MB with five metrics each.
  static constexpr size_t kMostWaiting = 100'000;

  // `name` is for people: "wandb". `tell` warns; it is called from any thread, one call at a time, and not after
  // leave() or the destructor have returned. Throws nothing: without a thread there is a warning.
  BackgroundReporter(std::string name, Begin begin, Tell tell, size_t most_waiting = kMostWaiting);
  BackgroundReporter(const BackgroundReporter&) = delete;
  BackgroundReporter& operator=(const BackgroundReporter&) = delete;
  // As end(RunEnd::kFailed) and leave(1) where nobody has called them.
  ~BackgroundReporter();

  // Never waits.
  void record(const LogRecord& record);
  // There are no more records: the sink ends behind those that wait. Never waits.
  void end(RunEnd how);
  // After end(): gives that `seconds`, then leaves the sink behind with a warning.
  void leave(double seconds);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace hftrain::reporting
