// What the supervisor does when something happens: a pure function of the job's phase and the event.
//
//   starting   workers run, not all have said that they are ready
//   running    all are ready
//   stopping   a stop was asked for; workers finish their update, save and leave
//   ending     a worker failed, or the user asked again: all are told to leave, the grace period runs
//   killing    the grace period is over: all were killed
//   draining   all processes are gone; a pipe is still open (held by something they started)
//   over       processes gone and pipes drained, or given up
#pragma once

#include <cstdint>

namespace hftrain::launcher {

enum class Phase { kStarting, kRunning, kStopping, kEnding, kKilling, kDraining, kOver };

enum class JobEvent {
  kAllReady,       // the last rank reported ready
  kStopAsked,      // a stop signal came (stop_signals.h), or the job's time is nearly over
  kWorkerFailed,   // a worker died, exited in error, left without finishing, or reported a failure
  kSilence,        // nothing goes on any more (hang_watch.h)
  kDeadline,       // the running grace period is over
  kProcessesGone,  // the last process was reaped while a pipe is open
  kAllDone,        // the last process was reaped and the last pipe drained
};

// Actions are a set; they are carried out in this order.
enum Action : uint32_t {
  kNothing = 0,
  kAnnounceStop = 1 << 0,   // tell the user what happens now and how to cut it short
  kAnnounceEnd = 1 << 1,    // tell the user that nothing will be saved
  kForwardSignal = 1 << 2,  // pass the signal on to every worker
  kTerminate = 1 << 3,      // SIGTERM to every worker that is not leaving by itself
  kKill = 1 << 4,           // SIGKILL to every worker's group
  kStartGrace = 1 << 5,     // kDeadline after the grace period
  kAbandonPipes = 1 << 6,   // stop reading what is still open
};

struct Reaction {
  Phase next;
  uint32_t actions;  // of Action

  bool operator==(const Reaction&) const = default;
};

Reaction react(Phase phase, JobEvent event);

const char* phase_name(Phase phase);
const char* event_name(JobEvent event);

}  // namespace hftrain::launcher
