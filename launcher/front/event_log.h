// What happens to a job, a line of JSON each, in hftrain/events.jsonl: for `hftrain report`, and for whoever asks later why
// it took so long. log.jsonl has the numbers that the training logs; here stands the rest.
//
//   {"time", "event": "start",      "attempt", "ranks", "resumed_from"}
//   {"time", "event": "sample",     "step", "tokens_per_second", "memory_bytes"}   of rank 0; ever more rarely
//   {"time", "event": "checkpoint", "step", "folder", "seconds"}                   with --async_save "stall_seconds"
//   {"time", "event": "warning",    "rank", "text"}
//   {"time", "event": "failed",     "rank", "what", "why"}                         and "step", the last it finished
//   {"time", "event": "notice",     "text"}                                       of the launcher
//   {"time", "event": "end",        "attempt", "exit_code", "reason", "seconds"}   of a failure "rank" and "what"
#pragma once

#include <string>

#include "hftrain/base/json.h"
#include "launcher/process/log_writer.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {

// Appends from a thread of its own: a disk that hangs or is full stops nothing. What it has no room for is left out.
class EventLog : public launcher::WorkerObserver {
 public:
  // Throws an Error (kEnvironment) when the system starts no thread.
  EventLog(const std::string& path, int attempt);

  void begin(int ranks, const std::string& resumed_from);
  void on_event(const plan::WorkerEvent& event) override;
  void on_output(const launcher::OutputLine&) override {}
  void on_notice(const std::string& text) override;
  // Waits a few seconds at most for the disk. For people: what could not be written.
  std::vector<std::string> end(const launcher::JobResult& result, double seconds);

 private:
  void add(const char* event, double time, Json members);
  void add_sample(const plan::WorkerEvent& step);
  void add_warning(const plan::WorkerEvent& message);

  launcher::LogWriter file_;
  int attempt_;
  double begun_ = 0, sampled_ = 0;  // Unix seconds
  int warnings_ = 0;
};

// Tells two observers, the first one first.
class BothObservers : public launcher::WorkerObserver {
 public:
  // References must outlive the object.
  BothObservers(launcher::WorkerObserver& first, launcher::WorkerObserver& second)
      : first_(first), second_(second) {}
  void on_event(const plan::WorkerEvent& event) override {
    first_.on_event(event);
    second_.on_event(event);
  }
  void on_output(const launcher::OutputLine& line) override {
    first_.on_output(line);
    second_.on_output(line);
  }
  void on_notice(const std::string& text) override {
    first_.on_notice(text);
    second_.on_notice(text);
  }

 private:
  launcher::WorkerObserver& first_;
  launcher::WorkerObserver& second_;
};

}  // namespace hftrain::front
