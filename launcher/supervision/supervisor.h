// Runs one job: starts its workers, watches them by events only, and ends with one verdict and at most one
// report.
//
// A single loop polls the workers' pipes and control descriptors, their process descriptors, the stop signals
// and the next deadline, and looks at the clock once a second: that a whole job was suspended is seen by nothing else. What happens is decided by react() (policy.h), what it means by judge() (verdict.h).
// run() returns when every process has ended and every pipe is drained, or, should something the workers
// started keep a pipe open, Limits::grace_seconds later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/control/job_worker_set.h"
#include "launcher/process/output_router.h"
#include "launcher/process/own_pauses.h"
#include "launcher/supervision/failure_report.h"
#include "launcher/supervision/hang_watch.h"
#include "launcher/supervision/policy.h"
#include "launcher/supervision/rendezvous.h"
#include "launcher/supervision/stop_budget.h"
#include "launcher/supervision/stop_signals.h"
#include "launcher/supervision/stop_wishes.h"
#include "launcher/supervision/worker_group.h"

namespace hftrain::launcher {

// Sees the job as it goes; called on the supervisor's thread, between reads, so it must not block for long.
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void on_event(const plan::WorkerEvent& event) = 0;
  // A whole line of a rank and stream that the filter shows.
  virtual void on_output(const OutputLine& line) = 0;
  // What the launcher itself has to say: what is waited for, what a signal does, a log that cannot be
  // written.
  virtual void on_notice(const std::string& text) = 0;
};

struct Limits {
  double grace_seconds = 0.5;  // from asking workers to leave to killing them; at the end, for pipes to drain
  double patience_seconds = 10;  // of waiting before the user is told what for
  HangLimits hang{.most_seconds = 0};
  std::optional<double> end_time{};  // Unix seconds: the job is stopped in time to save before it
};

struct JobSpec {
  std::vector<WorkerSpec> workers;
  std::string stop_signals = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";  // that are listened to
  bool trains = true;                                          // without training a stop saves nothing
  OutputSpec output;
  Rendezvous rendezvous;  // its listener goes to the worker that serves the store
  Limits limits;
  std::function<bool()> logs_in_place = [] {
    return true;
  };                             // false: their folder has moved, and others use its name
  ControlHub* hub = nullptr;     // to the other agents of the job; must outlive the supervisor
  std::optional<Others> others;  // what they start; with a hub
};

struct JobResult {
  ExitCode code = ExitCode::kDone;
  std::string reason;                    // for summary.json
  bool stop_asked = false;               // by a stop signal, or because its time was over
  bool stop_forced = false;              // and again, to stop at once
  std::vector<WorkerRecord> workers;     // what each said last, its statistics among it
  std::optional<FailureReport> failure;  // of the rank that failed first
};

class Supervisor {
 public:
  Supervisor(JobSpec spec, WorkerObserver& observer);

  // Call once, from the thread that is to outlive the workers. Throws an Error when the job cannot be
  // started, or another agent says that it cannot go on; whatever happens to started workers is in the result. Writes error.json beside the logs of the
  // rank that failed first.
  JobResult run();

 private:
  void wait_and_read();
  void pass_over_own_pause();
  void handle(JobEvent event);
  void tell_who_asked(const plan::WorkerEvent& event);
  void stop_asked(int agent, int signal);
  void carry_out(uint32_t actions);
  void handle_signals();
  void handle_workers(const std::vector<pollfd>& watched);
  void handle_deadlines();
  void look_for_hang(double now);
  void stop_for_time();
  void announce_stop_for_time();
  void tell_what_is_awaited(double now);
  int poll_timeout_milliseconds() const;
  JobResult result();
  void run_in_background(const std::function<void()>& work);
  // What it throws is told and goes no further.
  void try_in_background(const std::function<void()>& work);
  void write_crash_record(const FailureReport& report, const WorkerRecord& worker);

  JobSpec spec_;
  WorkerObserver& observer_;
  WorkerGroup own_workers_;
  std::unique_ptr<JobWorkerSet> joint_;  // of all agents, where there are several
  WorkerSet& group_;
  std::unique_ptr<OutputRouter> router_;
  std::unique_ptr<StopSignals> signals_;
  Phase phase_ = Phase::kStarting;
  JobRecord job_;
  int last_signal_ = 0;
  std::map<int, StopWishes> wishes_by_agent_;
  int stops_ = 0;             // how often the job was asked to stop
  bool out_of_time_ = false;  // it stops by itself
  double phase_since_ = 0;    // monotonic seconds
  std::optional<HangWatch> hang_watch_;
  StopBudget stop_budget_;
  OwnPauses pauses_;
  std::optional<double> deadline_;  // of the grace period
  double next_notice_ = 0;
  uint64_t memory_kills_at_start_ = 0;
};

}  // namespace hftrain::launcher
