// What became of a job: from the record of its workers to one exit code and, when it failed, the rank that
// failed first. Pure functions of values, so that every combination can be tested.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hftrain/base/exit_code.h"
#include "hftrain/plan/worker_protocol.h"
#include "launcher/process/child_process.h"
#include "launcher/supervision/worker_snapshot.h"

namespace hftrain::launcher {

// All that the launcher knows of one worker.
struct WorkerRecord {
  int rank = 0;
  std::string device;  // for people: "cpu", "cuda:1 (name)"
  pid_t pid = -1;
  bool ready = false;
  int64_t step = -1;          // last finished update; -1: none
  double last_heard = 0;      // monotonic seconds of its newest event, or of its start
  double ended_at = 0;        // monotonic seconds when its failure was noticed: by its report or its end
  uint64_t signals_sent = 0;  // bit n: the launcher sent it signal n
  std::optional<plan::WorkerEvent> finished;
  std::optional<plan::WorkerEvent> failed;
  std::optional<ExitStatus> status;
  std::vector<std::string> last_lines;  // of its output, once the job is over and it failed
  // Of a worker of another agent:
  std::string node;                // "node 1 (host-b)"; empty for one of this agent
  std::string lost;                // why the agent is gone, and the worker with it; empty: it is there
  bool killed_for_memory = false;  // its node's out-of-memory killer was at work when it died
  std::string logs;                // its folder there
  WorkStatus last_seen{};          // its status page when it had ended

  // It is known to be gone.
  bool over() const { return status || !lost.empty(); }
  // It reported an orderly end and ended with the code it reported.
  bool ended_orderly() const;
  bool was_sent(int signal) const { return (signals_sent >> signal & 1) != 0; }
};

// The finding that a job hangs.
struct Hang {
  size_t worker = 0;          // the one the others wait for
  double silent_seconds = 0;  // since anybody said anything
  double allowed_seconds = 0;
};

struct JobRecord {
  std::vector<WorkerRecord> workers;
  int stop_signal = 0;            // the first signal that asked for a stop; 0: none
  bool stop_forced = false;       // a second one came
  bool saved_after_stop = false;  // a checkpoint was committed after the first
  std::optional<Hang> hang{};     // ended because nothing went on
  // By worker, from when a hang was found or a worker reported a failure; empty: nobody looked.
  std::vector<WorkerSnapshot> snapshots{};
  bool waited_out = false;         // the ranks that complained had waited until their deadline
  bool killed_for_memory = false;  // the kernel's out-of-memory killer was at work while the job ran
  std::optional<uint64_t>
      address_limit_bytes{};  // of this agent's processes (ulimit -v); nothing: there is none
};

enum class Failure {
  kReported,    // the worker said what went wrong
  kNodeLost,    // the agent that watched it is gone, and it with it
  kSignal,      // ended by a signal the launcher did not send
  kMappedFile,  // ended because a file mapped into memory could not be read
  kHostMemory,  // SIGKILL by the kernel's out-of-memory killer
  kNoMemory,    // the system gave none to load its program into
  kNotLoaded,   // the system could not load its program: a library is missing or does not fit
  kExit,        // exited with an error code and no report
  kUnfinished,  // exited with 0 and no word that it had finished
  kHung,        // the others wait for it
  kStopped,     // asked to stop, left without saving
};

struct Verdict {
  ExitCode code = ExitCode::kDone;
  std::string reason;             // a few words for summary.json: "done", "terminated", "worker lost", …
  std::optional<size_t> culprit;  // index of the worker that failed first; unset: nothing failed
  Failure failure = Failure::kReported;  // of the culprit
  std::vector<size_t> follow_ons;  // the other workers that did not end orderly, in order of their failure
};

Verdict judge(const JobRecord& job);

// Whether the system's loader said in `lines` that a library found no room in memory. `limited`: there is a limit on address space, which
// then is why one could not be mapped.
bool found_no_room(const std::vector<std::string>& lines, bool limited);
// Of this process and those that it starts (ulimit -v); nothing: there is none.
std::optional<uint64_t> address_space_limit();

// "SIGKILL" for 9; "signal 64" where there is no name.
std::string signal_name(int signal);
// The documented exit code with this number, if there is one.
std::optional<ExitCode> documented_code(int code);
// The same of somebody who says that something failed: who names no code of a failure (0, 130 and 143 are of
// runs that ended well) is taken for kInternal.
ExitCode failure_code(int code);

}  // namespace hftrain::launcher
