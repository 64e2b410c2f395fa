#include "launcher/supervision/verdict.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "launcher/supervision/hang_watch.h"

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

// A signal by which schedulers and users ask for a stop. Workers handle these; one that was ended by such a
// signal had not come so far.
bool asks_for_stop(int signal) {
  return signal == SIGTERM || signal == SIGINT || signal == SIGUSR1 || signal == SIGUSR2 ||
         signal == SIGHUP || signal == SIGXCPU;
}

// A file that a worker has mapped by name, not shared memory.
bool is_file(const std::string& mapped) {
  return !mapped.empty() && mapped.rfind("/dev/", 0) != 0 && mapped.rfind("/memfd:", 0) != 0;
}

// The loader's word for a program that it cannot load, of one that has not said anything yet.
bool was_not_loaded(const WorkerRecord& worker, ExitStatus status) {
  constexpr int kNotLoadedCode = 127;
  return status.code == kNotLoadedCode && !worker.ready && worker.step < 0;
}

// Without a limit another thing forbids that a library is mapped (noexec). Those of other machines are not known.
bool had_no_room(const WorkerRecord& worker, const JobRecord& job) {
  return found_no_room(worker.last_lines, worker.node.empty() && job.address_limit_bytes);
}

// The standard library's last word of a program without memory, of one that has not said anything yet: while its libraries
// are loaded nobody is there to report it.
bool had_no_memory(const WorkerRecord& worker, ExitStatus status) {
  const auto& lines = worker.last_lines;
  return status.signal == SIGABRT && !worker.ready && worker.step < 0 &&
         std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
           return line.find("std::bad_alloc") != std::string::npos;
         });
}

Failure failure_of_worker(const WorkerRecord& worker, const JobRecord& job) {
  if (worker.failed) return Failure::kReported;
  if (!worker.lost.empty() && !worker.status) return Failure::kNodeLost;
  // Its own note, since the launcher may have killed it while it still wrote a memory dump.
  if (const auto& crash = worker.last_seen.crash) {
    return crash->signal == SIGBUS && is_file(crash->mapped_file) ? Failure::kMappedFile : Failure::kSignal;
  }
  const ExitStatus status = worker.status.value_or(ExitStatus{});
  if (status.signal != 0) {
    if (worker.was_sent(status.signal) || asks_for_stop(status.signal)) return Failure::kStopped;
    if (had_no_memory(worker, status)) return Failure::kNoMemory;
    const bool for_memory = worker.node.empty() ? job.killed_for_memory : worker.killed_for_memory;
    return status.signal == SIGKILL && for_memory ? Failure::kHostMemory : Failure::kSignal;
  }
  if (status.code == 0) return Failure::kUnfinished;
  if (was_not_loaded(worker, status))
    return had_no_room(worker, job) ? Failure::kNoMemory : Failure::kNotLoaded;
  return is_stop_code(status.code) ? Failure::kStopped : Failure::kExit;
}

// Smaller is likelier to be the origin. A rank that lost its peer, that reports the failure of another, or
// that left because it was told to, follows another.
int distance_from_origin(const WorkerRecord& worker, const JobRecord& job) {
  const Failure failure = failure_of_worker(worker, job);
  // Sent a signal by somebody else, it is the origin.
  if (failure == Failure::kStopped) return worker.signals_sent != 0 ? 2 : 0;
  if (failure != Failure::kReported) return 0;
  const bool lost_peer = reported_code(*worker.failed) == static_cast<int>(ExitCode::kWorkerLost);
  return lost_peer || worker.failed->data.contains("of_rank") ? 1 : 0;
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

// The workers as they were when `snapshots` were taken: those that the launcher has ended since still ran.
std::vector<WorkerRecord> workers_at_first_failure(const JobRecord& job) {
  std::vector<WorkerRecord> workers = job.workers;
  for (WorkerRecord& worker : workers) {
    if (worker.status && worker.status->signal != 0 && worker.was_sent(worker.status->signal)) {
      worker.status.reset();
    }
  }
  return workers;
}

// When ranks only complain of each other: the one they all waited for, if it can be told.
std::optional<size_t> awaited_worker(const JobRecord& job) {
  const std::optional<Suspect> suspect = find_suspect(workers_at_first_failure(job), job.snapshots);
  if (!suspect || suspect->sign == Suspect::Sign::kQuiet) return std::nullopt;
  // One that is merely behind may be at work while the connection to it broke.
  const bool told_apart = suspect->sign == Suspect::Sign::kStopped || job.waited_out;
  return told_apart ? std::optional(suspect->worker) : std::nullopt;
}

// Nothing when another failure explains the end of the job.
std::optional<size_t> hung_worker(const JobRecord& job, size_t first_failed) {
  const int distance = distance_from_origin(job.workers[first_failed], job);
  std::optional<size_t> hung;
  if (job.hang && distance > 0) hung = job.hang->worker;
  if (!job.hang && distance == 1 && !job.snapshots.empty()) hung = awaited_worker(job);
  return hung && !job.workers[*hung].ended_orderly() ? hung : std::nullopt;
}

ExitCode code_of(Failure failure, const WorkerRecord& worker) {
  switch (failure) {
    case Failure::kReported:
      return documented_code(reported_code(*worker.failed)).value_or(ExitCode::kInternal);
    case Failure::kExit:
      return documented_code(worker.status->code).value_or(ExitCode::kWorkerLost);
    case Failure::kNotLoaded:
      return ExitCode::kEnvironment;
    case Failure::kHostMemory:
    case Failure::kNoMemory:
      return ExitCode::kHostMemory;
    case Failure::kMappedFile:
      return ExitCode::kDisk;
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

// Ranks that were told to leave at once may have saved before.
ExitCode code_of_forced_stop(const JobRecord& job) {
  if (!job.saved_after_stop) return ExitCode::kTerminatedUnsaved;
  return job.stop_signal == SIGINT ? ExitCode::kInterrupted : ExitCode::kTerminated;
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

bool found_no_room(const std::vector<std::string>& lines, bool limited) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
    if (line.find("error while loading shared libraries") == std::string::npos) return false;
    return line.ends_with("Cannot allocate memory") ||
           (limited && line.ends_with("failed to map segment from shared object"));
  });
}

std::optional<uint64_t> address_space_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

Verdict judge(const JobRecord& job) {
  std::vector<size_t> failed = failed_workers_in_order(job);
  if (failed.empty()) return orderly_verdict(job);
  Verdict verdict;
  verdict.failure = failure_of_worker(job.workers[failed.front()], job);
  if (const std::optional<size_t> hung = hung_worker(job, failed.front())) {
    verdict.failure = Failure::kHung;
    std::stable_partition(failed.begin(), failed.end(), [&](size_t i) { return i == *hung; });
  }
  verdict.culprit = failed.front();
  verdict.code =
      job.stop_forced ? code_of_forced_stop(job) : code_of(verdict.failure, job.workers[*verdict.culprit]);
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

ExitCode failure_code(int code) {
  const ExitCode known = documented_code(code).value_or(ExitCode::kInternal);
  const bool ended_well =
      known == ExitCode::kDone || known == ExitCode::kInterrupted || known == ExitCode::kTerminated;
  return ended_well ? ExitCode::kInternal : known;
}

}  // namespace hftrain::launcher
