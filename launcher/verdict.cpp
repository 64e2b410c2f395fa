#include "launcher/verdict.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace hftrain::launcher {
namespace {

int reported_code(const plan::WorkerEvent& event) {
  const Json& data = event.data;
  return data.contains("exit_code") && data["exit_code"].is_number_integer() ? data["exit_code"].get<int>()
                                                                             : -1;
}

bool is_stop_code(int code) {
  return code == static_cast<int>(ExitCode::kTerminatedUnsaved) || code == 128 + SIGTERM ||
         code == 128 + SIGINT;
}

Failure failure_of(const WorkerRecord& worker, const JobRecord& job) {
  if (worker.failed) return Failure::kReported;
  if (!worker.lost.empty() && !worker.status) return Failure::kNodeLost;
  const ExitStatus status = worker.status.value_or(ExitStatus{});
  if (status.signal != 0) {
    if (worker.was_sent(status.signal)) return Failure::kStopped;
    const bool for_memory = worker.node.empty() ? job.killed_for_memory : worker.killed_for_memory;
    return status.signal == SIGKILL && for_memory ? Failure::kHostMemory : Failure::kSignal;
  }
  if (status.code == 0) return Failure::kUnfinished;
  return is_stop_code(status.code) ? Failure::kStopped : Failure::kExit;
}

// Smaller is likelier to be the origin. A rank that lost its peer, or that left because it was told to,
// follows another.
int distance_from_origin(const WorkerRecord& worker, const JobRecord& job) {
  const Failure failure = failure_of(worker, job);
  if (failure == Failure::kStopped) return 2;
  const bool lost_peer = failure == Failure::kReported &&
                         reported_code(*worker.failed) == static_cast<int>(ExitCode::kWorkerLost);
  return lost_peer ? 1 : 0;
}

std::vector<size_t> failed_workers_in_order(const JobRecord& job) {
  std::vector<size_t> failed;
  for (size_t i = 0; i < job.workers.size(); ++i) {
    if (!job.workers[i].ended_orderly()) failed.push_back(i);
  }
  const auto order = [&](size_t i) {
    return std::tuple(distance_from_origin(job.workers[i], job), job.workers[i].ended_at, i);
  };
  std::sort(failed.begin(), failed.end(), [&](size_t a, size_t b) { return order(a) < order(b); });
  return failed;
}

size_t longest_silent(const JobRecord& job) {
  const auto silent = std::min_element(
      job.workers.begin(), job.workers.end(), [](const WorkerRecord& a, const WorkerRecord& b) {
        return std::tuple(a.ready, a.step, a.last_heard) < std::tuple(b.ready, b.step, b.last_heard);
      });
  return static_cast<size_t>(silent - job.workers.begin());
}

ExitCode code_of(Failure failure, const WorkerRecord& worker) {
  switch (failure) {
    case Failure::kReported:
      return documented_code(reported_code(*worker.failed)).value_or(ExitCode::kInternal);
    case Failure::kExit:
      return documented_code(worker.status->code).value_or(ExitCode::kWorkerLost);
    case Failure::kHostMemory:
      return ExitCode::kHostMemory;
    case Failure::kStopped:
      return ExitCode::kTerminatedUnsaved;
    case Failure::kSignal:
    case Failure::kUnfinished:
    case Failure::kHung:
    case Failure::kNodeLost:
      break;
  }
  return ExitCode::kWorkerLost;
}

// All workers ended orderly: they agree on a code; should they not, the first that is not 0 counts.
Verdict orderly_verdict(const JobRecord& job) {
  Verdict verdict;
  verdict.reason = "done";
  for (const WorkerRecord& worker : job.workers) {
    if (verdict.code != ExitCode::kDone) break;
    verdict.code = documented_code(reported_code(*worker.finished)).value_or(ExitCode::kInternal);
    verdict.reason = worker.finished->data.value("reason", std::string(exit_code_name(verdict.code)));
  }
  return verdict;
}

}  // namespace

bool WorkerRecord::ended_orderly() const {
  return finished && !failed && status && status->signal == 0 && status->code == reported_code(*finished);
}

Verdict judge(const JobRecord& job) {
  std::vector<size_t> failed = failed_workers_in_order(job);
  if (failed.empty()) return orderly_verdict(job);
  Verdict verdict;
  const bool all_were_told = distance_from_origin(job.workers[failed.front()], job) == 2;
  if (job.silent && all_were_told) {
    verdict.failure = Failure::kHung;
    const size_t silent = longest_silent(job);
    std::stable_partition(failed.begin(), failed.end(), [&](size_t i) { return i == silent; });
  } else {
    verdict.failure = failure_of(job.workers[failed.front()], job);
  }
  verdict.culprit = failed.front();
  verdict.code = job.stop_forced ? ExitCode::kTerminatedUnsaved
                                 : code_of(verdict.failure, job.workers[*verdict.culprit]);
  verdict.reason = exit_code_name(verdict.code);
  verdict.follow_ons.assign(failed.begin() + 1, failed.end());
  return verdict;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::optional<ExitCode> documented_code(int code) {
  constexpr std::array kCodes = {ExitCode::kDone,
                                 ExitCode::kInternal,
                                 ExitCode::kUsage,
                                 ExitCode::kEnvironment,
                                 ExitCode::kData,
                                 ExitCode::kDeviceMemory,
                                 ExitCode::kHostMemory,
                                 ExitCode::kDisk,
                                 ExitCode::kDiverged,
                                 ExitCode::kWorkerLost,
                                 ExitCode::kTerminatedUnsaved,
                                 ExitCode::kInterrupted,
                                 ExitCode::kTerminated};
  for (const ExitCode known : kCodes) {
    if (static_cast<int>(known) == code) return known;
  }
  return std::nullopt;
}

}  // namespace hftrain::launcher
