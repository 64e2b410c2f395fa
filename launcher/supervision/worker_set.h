// The workers of one attempt as the supervisor sees them, wherever they run: those of this agent
// (worker_group.h), or those of all agents of the job (control/job_worker_set.h).
#pragma once

#include <poll.h>

#include <string>
#include <vector>

#include "hftrain/base/clock.h"
#include "launcher/process/output_router.h"
#include "launcher/supervision/verdict.h"

namespace hftrain::launcher {

class WorkerSet {
 public:
  // A signal that asks the job to stop came to another agent.
  struct StopAsked {
    int agent = 0;
    int signal = 0;
  };
  // What became known while reading.
  struct Changes {
    std::vector<plan::WorkerEvent> events;
    std::vector<OutputLine> lines;     // of workers of other agents; those of this one go to the router
    std::vector<std::string> notices;  // of other agents
    std::vector<StopAsked> stops;
    bool became_ready = false;  // the last rank that was not ready has become so
    bool failed = false;        // a worker failed that had not before
  };

  virtual ~WorkerSet() = default;

  // Starts every worker. When one cannot be started those already running are killed and the Error is passed
  // on.
  virtual void start() = 0;

  // Appends what poll() must watch.
  virtual void append_descriptors(std::vector<pollfd>& watched) const = 0;
  // Reads what is there and notices what has ended.
  virtual Changes read_ready(const std::vector<pollfd>& watched, OutputRouter& router) = 0;
  // Monotonic seconds at which read_ready() must be called although nothing is readable.
  virtual double next_deadline() const { return kNever; }
  // Stops reading the pipes that are still open.
  virtual void abandon_pipes(OutputRouter& router) = 0;

  // What is to be seen of every worker now, by index; of those of other agents what they saw a moment ago.
  virtual std::vector<WorkerSnapshot> look() const = 0;
  // Has every worker that can write its stack onto its status page; look() finds it there a moment later.
  virtual void ask_for_stacks() const = 0;

  virtual void signal_all(int signal) = 0;
  // SIGTERM to every worker but those that have said they are leaving: these are still writing why.
  virtual void terminate() = 0;
  virtual void kill_all() = 0;

  virtual bool pipes_drained() const = 0;
  virtual const std::vector<WorkerRecord>& records() const noexcept = 0;

  bool processes_gone() const;
  bool all_ready() const;
};

// Takes what a worker said into its record. True when this is the first sign of its failure.
bool take_event(WorkerRecord& record, const plan::WorkerEvent& event, double now);

}  // namespace hftrain::launcher
