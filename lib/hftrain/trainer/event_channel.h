// The worker's voice: one JSON line per event on the control descriptor the launcher reads
// (plan/worker_protocol.h), and the status page on which the launcher sees what it is doing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "hftrain/base/file.h"
#include "hftrain/base/logger.h"
#include "hftrain/base/status_page.h"
#include "hftrain/plan/worker_protocol.h"

namespace hftrain::trainer {

// Any thread, but for step(): that is called by the one that trains. A launcher that has gone away is not an error here: what is said to it is dropped, and the
// worker ends because its parent did.
class EventChannel {
 public:
  // `fd` of -1 discards events (a worker started by hand). `status` must outlive the object.
  EventChannel(FileDescriptor fd, int rank, StatusPage* status = nullptr)
      : fd_(std::move(fd)), rank_(rank), status_(status) {}

  void send(plan::WorkerEvent::Kind kind, Json data);
  void message(LogLevel level, std::string_view text);
  // One update is done. At most ten a second are sent, the first one always: proof of life and the console's
  // progress. `more`, which may be empty, is asked for members to add to those that are sent.
  void step(int64_t done, int64_t total, const std::function<Json()>& more = {});
  // Bytes of a checkpoint that this rank has written, read or verified, or rows of data that have come while it waits for
  // others. While it does nothing else, one event a second tells of them: what moves does not hang.
  void moved(uint64_t amount);
  void set_phase(WorkPhase phase);
  WorkPhase phase() const;

 private:
  FileDescriptor fd_;
  int rank_;
  StatusPage* status_;  // null: nobody looks
  std::atomic<bool> closed_ = false;
  double last_step_ = 0;  // monotonic seconds
  std::mutex mutex_;
  struct Moved {
    std::mutex mutex;
    uint64_t amount = 0;  // in this phase
    double told = 0;      // monotonic seconds
  };
  Moved moved_;
};

}  // namespace hftrain::trainer
