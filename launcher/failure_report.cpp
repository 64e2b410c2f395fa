#include "launcher/failure_report.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "hftrain/base/text.h"

namespace hftrain::launcher {
namespace {

std::string rank_name(const WorkerRecord& worker) {
  return "rank " + std::to_string(worker.rank);
}

std::string text_of(const plan::WorkerEvent& event, const char* key) {
  const auto member = event.data.find(key);
  return member != event.data.end() && member->is_string() ? member->get<std::string>() : "";
}

std::string when(const WorkerRecord& worker) {
  if (worker.step >= 0) return "after update " + std::to_string(worker.step);
  return worker.ready ? "before its first update was finished" : "before it was ready";
}

std::string where(const WorkerRecord& worker, size_t workers) {
  std::string text = rank_name(worker) + " of " + std::to_string(workers);
  if (!worker.device.empty()) text += " on " + worker.device;
  if (!worker.node.empty()) text += ", " + worker.node;
  return text + ", pid " + std::to_string(worker.pid) + ", " + when(worker);
}

// The signals that tell something of the cause.
Diagnostic explain_signal(int signal, Diagnostic report) {
  switch (signal) {
    case SIGKILL:
      report.why =
          "something outside this job killed it: a user, a scheduler, or a memory guard that keeps no count";
      report.hint =
          "start again: the run goes on from its newest checkpoint; if it happens again, look at the "
          "scheduler's messages and the kernel's log (dmesg)";
      break;
    case SIGBUS:
      report.why = "a memory-mapped file became shorter or unreadable, or shared memory (/dev/shm) is full";
      report.hint = "check the disk that holds the data cache and the size of /dev/shm";
      break;
    case SIGSEGV:
    case SIGABRT:
    case SIGILL:
    case SIGFPE:
      report.why = "a fault inside the worker: a mistake in hftrain, in a library, or in a plug-in";
      report.hint =
          "report it with the logs of this rank; `hftrain doctor` shows the versions that were loaded";
      break;
    default:
      report.why = "something outside this job sent it";
      report.hint = "start again: the run goes on from its newest checkpoint";
  }
  return report;
}

Diagnostic explain_reported(const WorkerRecord& worker, Diagnostic report) {
  const plan::WorkerEvent& event = *worker.failed;
  report.what = text_of(event, "what");
  if (report.what.empty()) report.what = rank_name(worker) + " failed and gave no reason";
  if (const std::string place = text_of(event, "where"); !place.empty())
    report.where = place + "; " + report.where;
  report.why = text_of(event, "why");
  report.hint = text_of(event, "hint");
  return report;
}

Diagnostic explain(const WorkerRecord& worker, const JobRecord& job, Failure failure,
                   const ReportFacts& facts) {
  Diagnostic report;
  report.what = rank_name(worker) + " " + describe_end(worker);
  report.where = where(worker, job.workers.size());
  switch (failure) {
    case Failure::kReported:
      return explain_reported(worker, std::move(report));
    case Failure::kSignal:
      return explain_signal(worker.status->signal, std::move(report));
    case Failure::kHostMemory:
      report.what = rank_name(worker) + " was killed because host memory ran out";
      report.why = "the kernel's out-of-memory killer ended it";
      if (facts.memory_limit_bytes) report.why += "; the limit is " + format_bytes(*facts.memory_limit_bytes);
      report.hint =
          "use fewer ranks, a smaller --per_device_train_batch_size or block size, or raise the limit";
      break;
    case Failure::kExit:
      report.why = "it gave no reason; its last lines may";
      break;
    case Failure::kUnfinished:
      report.what = rank_name(worker) + " left with exit code 0 before the run was finished";
      report.why = "code inside the worker ended the process";
      report.hint = "look for a library or plug-in that calls exit()";
      break;
    case Failure::kHung:
      report.what = rank_name(worker) + " hangs";
      report.why = "no rank has said anything for " + format_duration(facts.silence_seconds) +
                   ", and this one stopped first";
      report.hint =
          "a collective operation waits for it: look at its last lines; --ddp_timeout sets the limit";
      break;
    case Failure::kNodeLost:
      report.what = worker.node + " was lost";
      report.why = worker.lost;
      report.hint =
          "see whether that machine and the network to it are up; start again: the run goes on from its "
          "newest checkpoint";
      break;
    case Failure::kStopped:
      report.what = "stopped before a checkpoint could be committed";
      report.why = job.stop_forced ? "a second signal asked to stop at once"
                                   : "the signal came before the run could save its state";
      report.hint = "start again: the run goes on from its newest checkpoint, if it has one";
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

}  // namespace

std::string describe_end(const WorkerRecord& worker) {
  if (!worker.status && !worker.lost.empty()) return "went with " + worker.node;
  if (!worker.status) return "did not end";
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
  report.summary = explain(culprit, job, verdict.failure, facts);
  report.last_lines = std::move(facts.last_lines);
  if (verdict.failure == Failure::kReported) drop_repetition(report.summary.what, report.last_lines);
  report.logs = std::move(facts.logs);
  for (const size_t i : verdict.follow_ons) {
    const WorkerRecord& worker = job.workers[i];
    const bool told = worker.status && worker.status->signal != 0 && worker.was_sent(worker.status->signal);
    std::string end = told ? "ended by the launcher" : describe_end(worker);
    if (worker.failed && !text_of(*worker.failed, "what").empty())
      end += ": " + text_of(*worker.failed, "what");
    if (!worker.node.empty() && worker.lost.empty()) end += " on " + worker.node;
    report.follow_ons.push_back(rank_name(worker) + " " + end);
  }
  return report;
}

std::string FailureReport::render() const {
  std::string text = "error: " + summary.render();
  if (!last_lines.empty()) {
    text += "\n  last lines of rank " + std::to_string(rank) + ":";
    for (const std::string& line : last_lines) text += "\n    | " + line;
  }
  if (!follow_ons.empty()) {
    text += "\n  that failure ended the other ranks:";
    for (const std::string& line : follow_ons) text += "\n    " + line;
  }
  if (!logs.empty()) text += "\n  logs: " + logs;
  return text;
}

Json crash_record(const WorkerRecord& worker, const Diagnostic& summary) {
  Json record = {{"schema", 1},
                 {"rank", worker.rank},
                 {"pid", worker.pid},
                 {"device", worker.device},
                 {"end", describe_end(worker)},
                 {"what", summary.what},
                 {"where", summary.where},
                 {"why", summary.why},
                 {"hint", summary.hint}};
  record["step"] = worker.step >= 0 ? Json(worker.step) : Json(nullptr);
  if (worker.status) {
    const ExitStatus status = *worker.status;
    record["exit_code"] = status.signal == 0 ? Json(status.code) : Json(nullptr);
    record["signal"] = status.signal != 0 ? Json(status.signal) : Json(nullptr);
  }
  if (worker.failed) record["report"] = worker.failed->data;
  return record;
}

}  // namespace hftrain::launcher
