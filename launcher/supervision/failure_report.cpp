#include "launcher/supervision/failure_report.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "hftrain/base/clock.h"
#include "hftrain/base/text.h"
#include "hftrain/machine/identity.h"
#include "launcher/supervision/hang_watch.h"

namespace hftrain::launcher {
namespace {

const std::string kStartAgain = "start again: the run goes on from its newest checkpoint, if it has one";

std::string rank_name(const WorkerRecord& worker) {
  return "rank " + std::to_string(worker.rank);
}

std::string text_of(const plan::WorkerEvent& event, const char* key) {
  const auto member = event.data.find(key);
  return member != event.data.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string when(const WorkerRecord& worker) {
  const int64_t step = std::max(worker.step, worker.last_seen.step);
  if (step >= 0) {
    const std::string phase = work_phase_name(worker.last_seen.phase);
    const bool aside =
        phase == "evaluating" || phase == "saving" || phase == "leaving" || phase == "waiting for data";
    return (aside ? phase + ' ' : "") + "after update " + std::to_string(step);
  }
  return worker.ready ? "before its first update was finished" : "before it was ready";
}

std::string where(const WorkerRecord& worker, size_t workers) {
  std::string text = rank_name(worker) + " of " + std::to_string(workers);
  if (!worker.device.empty()) text += " on " + worker.device;
  if (!worker.node.empty()) text += ", " + worker.node;
  return text + ", pid " + std::to_string(worker.pid) + ", " + when(worker);
}

// The signal that ended it; after a crash not the one that cut the writing of a memory dump short.
int fatal_signal(const WorkerRecord& worker) {
  return worker.last_seen.crash ? worker.last_seen.crash->signal : worker.status->signal;
}

// The signals that tell something of the cause.
Diagnostic explain_signal(const WorkerRecord& worker, Diagnostic report) {
  const int signal = fatal_signal(worker);
  const auto& crash = worker.last_seen.crash;
  const bool sent_by_another = crash && crash->code == SI_USER;
  switch (signal) {
    case SIGKILL:
      report.why =
          "something outside this job killed it: a user, a scheduler, an out-of-memory daemon such as "
          "earlyoom, or the kernel at a hard limit on processor time (ulimit -Ht)";
      report.hint = kStartAgain +
                    "; if it happens again, look at the scheduler's messages and the kernel's log (dmesg)";
      break;
    case SIGBUS:
      report.why = "a memory-mapped file became shorter or unreadable, or shared memory (/dev/shm) is full";
      report.hint = "check the disk that holds the data cache and the size of /dev/shm";
      break;
    case SIGSEGV:
    case SIGABRT:
    case SIGILL:
    case SIGFPE:
      report.why = sent_by_another
                       ? "another process sent it"
                       : "a fault inside the worker: a mistake in hftrain, in a library, or in a plug-in";
      report.hint =
          "report it with the logs of this rank; `hftrain doctor` shows the versions that were loaded";
      break;
    default:
      report.why = "something outside this job sent it";
      report.hint = kStartAgain;
  }
  return report;
}

// Where the ranks are that a meeting missed, which those that met do not know; empty on one machine.
std::string places_of_missing(const plan::WorkerEvent& event, const JobRecord& job) {
  const auto missing = event.data.find("missing_ranks");
  if (missing == event.data.end() || !missing->is_array()) return "";
  std::vector<std::string> places;
  for (const WorkerRecord& worker : job.workers) {
    const bool is_missing = std::find(missing->begin(), missing->end(), worker.rank) != missing->end();
    const bool is_new = std::find(places.begin(), places.end(), worker.node) == places.end();
    if (is_missing && is_new && !worker.node.empty()) places.push_back(worker.node);
  }
  return join(places, ", ");
}

Diagnostic explain_reported(const WorkerRecord& worker, const JobRecord& job, Diagnostic report) {
  const plan::WorkerEvent& event = *worker.failed;
  report.what = text_of(event, "what");
  if (report.what.empty()) report.what = rank_name(worker) + " failed and gave no reason";
  if (const std::string place = text_of(event, "where"); !place.empty())
    report.where = place + "; " + report.where;
  report.why = text_of(event, "why");
  if (const std::string places = places_of_missing(event, job); !places.empty())
    report.why += "; missing are ranks of " + places;
  report.hint = text_of(event, "hint");
  return report;
}

std::string operation_name(const WorkStatus& status) {
  return "collective operation number " + std::to_string(status.operations) + " (" + status.operation + ")";
}

// The newest operation that any rank has begun.
const WorkStatus* foremost(const JobRecord& job) {
  const WorkStatus* newest = nullptr;
  for (const WorkerSnapshot& snapshot : job.snapshots) {
    if (!snapshot.has_status) continue;
    if (newest == nullptr || snapshot.status.operations > newest->operations) newest = &snapshot.status;
  }
  return newest;
}

// How a rank was found and what the others wait for.
std::string found_as(const WorkerSnapshot& snapshot, const JobRecord& job) {
  std::string text = "its process is " + describe_process(snapshot.process);
  if (!snapshot.has_status) return text;
  text += ", " + std::string(work_phase_name(snapshot.status.phase));
  const WorkStatus* others = foremost(job);
  if (others->operations > snapshot.status.operations) {
    return text + ", and has not begun " + operation_name(*others) + ", in which other ranks wait";
  }
  if (snapshot.status.operations > 0)
    text += "; " + operation_name(snapshot.status) + " is the newest of all ranks";
  return text;
}

WorkerSnapshot snapshot_of(const JobRecord& job, size_t worker) {
  return worker < job.snapshots.size() ? job.snapshots[worker] : WorkerSnapshot{};
}

Diagnostic explain_hang(size_t index, const JobRecord& job, Diagnostic report) {
  const WorkerRecord& worker = job.workers[index];
  const WorkerSnapshot snapshot = snapshot_of(job, index);
  const bool stopped = snapshot.process.stopped();
  report.what = rank_name(worker) + (stopped ? " hangs: its process was stopped" : " hangs");
  report.why = found_as(snapshot, job);
  if (job.hang) {
    report.why += "; no rank went on for " + format_duration(job.hang->silent_seconds) + ", " +
                  format_duration(job.hang->allowed_seconds) + " are allowed here";
  } else {
    report.why += "; the other ranks gave up waiting for it";
  }
  if (stopped) {
    report.hint = "find out who sent it SIGSTOP; a stopped process cannot show its stack";
  } else {
    report.hint = snapshot.status.stack.empty()
                      ? "it did not answer when asked for its stack; the kernel's log (dmesg) may tell more"
                      : "the stack shows where it is; --ddp_timeout is the upper limit of all waiting";
  }
  report.hint += "; --max_restarts N starts a run again by itself";
  return report;
}

Diagnostic explain(const JobRecord& job, const Verdict& verdict, const ReportFacts& facts) {
  const WorkerRecord& worker = job.workers[*verdict.culprit];
  Diagnostic report;
  report.what = rank_name(worker) + " " + describe_end(worker);
  report.where = where(worker, job.workers.size());
  switch (verdict.failure) {
    case Failure::kReported:
      return explain_reported(worker, job, std::move(report));
    case Failure::kSignal:
      return explain_signal(worker, std::move(report));
    case Failure::kHostMemory:
      report.what = rank_name(worker) + " was killed because host memory ran out";
      report.why = "the kernel's out-of-memory killer ended it";
      if (facts.memory_limit_bytes) report.why += "; the limit is " + format_bytes(*facts.memory_limit_bytes);
      report.hint =
          "use fewer ranks, a smaller --per_device_train_batch_size or block size, or raise the limit";
      break;
    case Failure::kNoMemory:
      report.what = rank_name(worker) + " got no memory while it was loaded";
      report.why = why_no_memory(worker.node.empty() ? job.address_limit_bytes : std::nullopt);
      report.hint = "see what else uses it, use fewer ranks on this machine, or raise the limit";
      break;
    case Failure::kNotLoaded:
      return explain_not_loaded(facts.last_lines, std::move(report));
    case Failure::kExit:
      report.why = "code inside the worker ended the process without a reason; its last lines may tell one";
      report.hint = "look for a library or plug-in that calls exit(); " + kStartAgain;
      break;
    case Failure::kUnfinished:
      report.what = rank_name(worker) + " left with exit code 0 before the run was finished";
      report.why = "code inside the worker ended the process";
      report.hint = "look for a library or plug-in that calls exit()";
      break;
    case Failure::kHung:
      return explain_hang(*verdict.culprit, job, std::move(report));
    case Failure::kMappedFile:
      report.why = worker.last_seen.crash->mapped_file +
                   ", which it had mapped into memory, could not be read or written: the disk reported an "
                   "error, was full, or the file became shorter";
      report.hint = "check that disk (dmesg) and its free space; earlier checkpoints are intact";
      break;
    case Failure::kNodeLost:
      report.what = worker.node + " was lost";
      report.why = worker.lost;
      report.hint = "see whether that machine and the network to it are up; " + kStartAgain;
      break;
    case Failure::kStopped:
      report.what = job.saved_after_stop ? "stopped at once, after a checkpoint was committed"
                                         : "stopped before a checkpoint could be committed";
      if (worker.status && worker.status->signal == SIGXCPU) {
        report.why =
            rank_name(worker) + " reached the limit on processor time (ulimit -t) before it could save";
      } else if (worker.signals_sent == 0) {
        report.why = rank_name(worker) + " was sent a signal before it could handle one, or twice";
      } else {
        report.why = job.stop_forced ? "a second signal asked to stop at once"
                                     : "the signal came before the run could save its state";
      }
      report.hint = kStartAgain;
      break;
  }
  return report;
}

// A worker that reports its error also writes it to its log: the lines from there on would say it twice.
void drop_repetition(const std::string& what, std::vector<std::string>& lines) {
  const auto ends_with_it = [&](const std::string& line) { return !what.empty() && line.ends_with(what); };
  const auto said = std::find_if(lines.begin(), lines.end(), ends_with_it);
  lines.erase(said, lines.end());
}

constexpr size_t kFramesShown = 12, kFrameWidth = 110;

// Names of templates run over many lines.
std::string shortened(const std::string& frame) {
  return frame.size() <= kFrameWidth ? frame : frame.substr(0, kFrameWidth) + "…";
}

// Of a crash, or of a rank that hangs.
std::vector<std::string> stack_of(const JobRecord& job, const Verdict& verdict) {
  if (verdict.failure == Failure::kHung) return stack_lines(snapshot_of(job, *verdict.culprit).status.stack);
  const WorkStatus& last = job.workers[*verdict.culprit].last_seen;
  return last.crash ? stack_lines(last.stack) : std::vector<std::string>();
}

}  // namespace

std::string why_no_memory(std::optional<uint64_t> limit) {
  if (limit) return "its address space is limited to " + format_bytes(*limit) + " (ulimit -v)";
  return "the system gave no more memory (its own, a control group's, or ulimit -v)";
}

// What the system's loader said: "PROGRAM: error while loading shared libraries: libtorch.so: cannot open …".
Diagnostic explain_not_loaded(const std::vector<std::string>& lines, Diagnostic report) {
  report.what = "hftrain-worker could not be loaded";
  report.why = "the system's loader ended it before its first line";
  for (const std::string& line : lines) {
    const size_t begin = std::min(line.find(": error while loading"), line.find(": symbol lookup error"));
    if (begin != std::string::npos) report.why = line.substr(begin + 2);
  }
  report.hint =
      "`hftrain doctor` shows which libraries are found; an installed hftrain takes `hftrain-libtorch "
      "fetch`, a "
      "checkout scripts/setup";
  return report;
}

std::string describe_end(const WorkerRecord& worker) {
  if (!worker.status && !worker.lost.empty()) return "went with " + worker.node;
  if (!worker.status) return "did not end";
  if (const auto& crash = worker.last_seen.crash) {
    return "crashed with " + signal_name(crash->signal) + " (signal " + std::to_string(crash->signal) + ")";
  }
  if (worker.status->signal != 0) {
    return "was killed by " + signal_name(worker.status->signal) + " (signal " +
           std::to_string(worker.status->signal) + ")";
  }
  return "exited with code " + std::to_string(worker.status->code);
}

FailureReport make_failure_report(const JobRecord& job, const Verdict& verdict, ReportFacts facts) {
  const WorkerRecord& culprit = job.workers.at(*verdict.culprit);
  FailureReport report;
  report.rank = culprit.rank;
  report.summary = explain(job, verdict, facts);
  report.last_lines = std::move(facts.last_lines);
  if (verdict.failure == Failure::kReported) drop_repetition(report.summary.what, report.last_lines);
  report.logs = std::move(facts.logs);
  report.stack = stack_of(job, verdict);
  for (const size_t i : verdict.follow_ons) {
    const WorkerRecord& worker = job.workers[i];
    const bool told = worker.status && worker.status->signal != 0 && worker.was_sent(worker.status->signal);
    std::string end = told ? "ended by the launcher" : describe_end(worker);
    if (worker.failed && !text_of(*worker.failed, "what").empty())
      end += ": " + text_of(*worker.failed, "what");
    const std::string place = worker.node.empty() || !worker.lost.empty() ? "" : " on " + worker.node;
    report.follow_ons.push_back(rank_name(worker) + place + ' ' + end);
  }
  return report;
}

std::string FailureReport::render() const {
  std::string text = "error: " + summary.render();
  if (!last_lines.empty()) {
    text += "\n  last lines of rank " + std::to_string(rank) + ":";
    for (const std::string& line : last_lines) text += "\n    | " + line;
  }
  if (!stack.empty()) {
    text += "\n  stack of rank " + std::to_string(rank) + ", innermost first:";
    for (size_t i = 0; i < std::min(stack.size(), kFramesShown); ++i) text += "\n    " + shortened(stack[i]);
    if (stack.size() > kFramesShown) text += "\n    … the rest is in error.json";
  }
  if (!follow_ons.empty()) {
    text += "\n  that failure ended the other ranks:";
    for (const std::string& line : follow_ons) text += "\n    " + line;
  }
  if (!logs.empty()) text += "\n  logs: " + logs;
  return text;
}

Json crash_record(const WorkerRecord& worker, const FailureReport& report, const JobRecord& job) {
  const Diagnostic& summary = report.summary;
  Json record = {{"schema", 1},
                 {"rank", worker.rank},
                 {"pid", worker.pid},
                 {"device", worker.device},
                 {"end", describe_end(worker)},
                 {"what", summary.what},
                 {"where", summary.where},
                 {"why", summary.why},
                 {"hint", summary.hint}};
  const int64_t step = std::max(worker.step, worker.last_seen.step);
  record["step"] = step >= 0 ? Json(step) : Json(nullptr);
  record["time"] = unix_seconds();
  record["host"] = worker.node.empty() ? machine::host_name() : worker.node;
  if (worker.status) {
    const ExitStatus status = *worker.status;
    record["exit_code"] = status.signal == 0 ? Json(status.code) : Json(nullptr);
    record["signal"] = status.signal != 0 ? Json(status.signal) : Json(nullptr);
  }
  if (worker.failed) record["report"] = worker.failed->data;
  record["last_seen"] = to_json_value(worker.last_seen);
  record["stack"] = report.stack;
  if (job.hang) {
    record["hang"] = {{"silent_seconds", job.hang->silent_seconds},
                      {"allowed_seconds", job.hang->allowed_seconds}};
  }
  for (size_t i = 0; i < job.snapshots.size(); ++i) {
    Json snapshot = to_json_value(job.snapshots[i]);
    snapshot["rank"] = job.workers[i].rank;
    record["ranks"].push_back(std::move(snapshot));
  }
  return record;
}

}  // namespace hftrain::launcher
