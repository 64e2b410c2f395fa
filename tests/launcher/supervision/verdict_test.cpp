#include "launcher/supervision/verdict.h"

#include <signal.h>

#include "launcher/supervision/failure_report.h"
#include "support/catch.h"

namespace hftrain::launcher {
namespace {

using plan::WorkerEvent;

WorkerRecord finished(int rank, int code) {
  WorkerRecord worker{.rank = rank, .device = "cpu", .pid = 100 + rank, .ready = true, .step = 5};
  worker.finished =
      WorkerEvent{WorkerEvent::Kind::kFinished, rank, 0, {{"exit_code", code}, {"reason", "max steps"}}};
  worker.status = ExitStatus{0, code};
  return worker;
}

WorkerRecord ended(int rank, ExitStatus status, double at) {
  WorkerRecord worker{.rank = rank, .device = "cpu", .pid = 100 + rank, .ready = true, .step = 5};
  worker.status = status;
  worker.ended_at = at;
  return worker;
}

WorkerRecord reported(int rank, int code, double at, const std::string& what = "no memory left") {
  WorkerRecord worker = ended(rank, {0, code}, at);
  worker.failed =
      WorkerEvent{WorkerEvent::Kind::kFailed,
                  rank,
                  0,
                  {{"exit_code", code}, {"what", what}, {"where", "w"}, {"why", "y"}, {"hint", "h"}}};
  return worker;
}

WorkerRecord ended_by_launcher(int rank, int signal, double at) {
  WorkerRecord worker = ended(rank, {signal, 0}, at);
  worker.signals_sent = uint64_t{1} << signal;
  return worker;
}

Verdict judge_workers(std::vector<WorkerRecord> workers) {
  return judge(JobRecord{.workers = std::move(workers)});
}

std::string report_of(const JobRecord& job) {
  return make_failure_report(job, judge(job), {{"last words"}, "logs/1", {}}).render();
}

}  // namespace

TEST_CASE("a job whose workers all finished is done, with the reason they gave") {
  const Verdict verdict = judge_workers({finished(0, 0), finished(1, 0)});
  CHECK(verdict.code == ExitCode::kDone);
  CHECK(verdict.reason == "max steps");
  CHECK_FALSE(verdict.culprit);
}

TEST_CASE("the code of an orderly end is the workers' code") {
  CHECK(judge_workers({finished(0, 143), finished(1, 143)}).code == ExitCode::kTerminated);
  CHECK(judge_workers({finished(0, 130), finished(1, 130)}).code == ExitCode::kInterrupted);
  CHECK(judge_workers({finished(0, 0), finished(1, 8)}).code == ExitCode::kDiverged);
}

TEST_CASE("every exit code without a report: documented ones are passed on, the others mean a lost worker") {
  for (int code = 0; code < 256; ++code) {
    const Verdict verdict = judge_workers({finished(0, 0), ended(1, {0, code}, 1)});
    INFO(code);
    REQUIRE(verdict.culprit == 1u);
    if (code >= 1 && code <= 10) {
      CHECK(static_cast<int>(verdict.code) == code);
    } else if (code == 130 || code == 143) {
      CHECK(verdict.code == ExitCode::kTerminatedUnsaved);  // only a report says that the state was saved
    } else {
      CHECK(verdict.code == ExitCode::kWorkerLost);
    }
  }
}

TEST_CASE(
    "a worker that is aborted for want of memory before it is ready ran out of it, with any other word it "
    "crashed") {
  WorkerRecord aborted = ended(0, {SIGABRT, 0}, 1);
  aborted.ready = false;
  aborted.step = -1;
  const auto judged = [&] { return judge(JobRecord{.workers = {aborted}}).code; };
  CHECK(judged() == ExitCode::kWorkerLost);
  aborted.last_lines = {"terminate called after throwing an instance of 'std::bad_alloc'",
                        "  what():  std::bad_alloc"};
  CHECK(judged() == ExitCode::kHostMemory);
  CHECK(report_of(JobRecord{.workers = {aborted}})
            .starts_with("error: rank 0 got no memory while it was loaded\n"));
  aborted.ready = true;
  CHECK(judged() == ExitCode::kWorkerLost);
}

TEST_CASE(
    "a worker that ends with 127 before it says anything could not be loaded, which is the environment's") {
  WorkerRecord silent = ended(0, {0, 127}, 1);
  silent.ready = false;
  silent.step = -1;
  JobRecord job{.workers = {silent}};
  CHECK(judge(job).code == ExitCode::kEnvironment);
  const std::string line =
      "error while loading shared libraries: libtorch.so: cannot open shared object file";
  const auto said = [&](std::vector<std::string> lines) {
    return make_failure_report(job, judge(job), {std::move(lines), "", {}}).render();
  };
  CHECK(said({"/opt/bin/hftrain-worker: " + line}) ==
        "error: hftrain-worker could not be loaded\n"
        "  where: rank 0 of 1 on cpu, pid 100, before it was ready\n"
        "  why: " +
            line +
            "\n  try: `hftrain doctor` shows which libraries are found; an installed hftrain takes "
            "`hftrain-libtorch fetch`, a checkout scripts/setup\n"
            "  last lines of rank 0:\n    | /opt/bin/hftrain-worker: " +
            line);
  CHECK(said({}).find("why: the system's loader ended it") != std::string::npos);
  job.workers[0].ready = true;
  CHECK(judge(job).code == ExitCode::kWorkerLost);
}

TEST_CASE(
    "a worker whose libraries find no room below a limit on address space got no memory, and the limit is "
    "named") {
  WorkerRecord silent = ended(0, {0, 127}, 1);
  silent.ready = false;
  silent.step = -1;
  const std::string line = "/opt/bin/hftrain-worker: error while loading shared libraries: libtorch_cpu.so: ";
  const auto judged = [&](const std::string& why, std::optional<uint64_t> limit) {
    silent.last_lines = {line + why};
    JobRecord job{.workers = {silent}};
    job.address_limit_bytes = limit;
    return std::pair(judge(job).code, report_of(job));
  };
  const auto [code, text] = judged("failed to map segment from shared object", uint64_t{300} << 20);
  CHECK(code == ExitCode::kHostMemory);
  CHECK(text.starts_with("error: rank 0 got no memory while it was loaded\n"));
  CHECK(text.find("why: its address space is limited to 300.0 MiB (ulimit -v)\n") != std::string::npos);
  CHECK(judged("failed to map segment from shared object", {}).first == ExitCode::kEnvironment);
  CHECK(judged("cannot open shared object file", uint64_t{300} << 20).first == ExitCode::kEnvironment);
  CHECK(judged("cannot allocate memory in static TLS block", uint64_t{300} << 20).first ==
        ExitCode::kEnvironment);
  CHECK(judged("failed to map segment from shared object: Cannot allocate memory", {}).first ==
        ExitCode::kHostMemory);
}

TEST_CASE("the report of a rank that exits without a reason has its four parts") {
  const std::string text = report_of(JobRecord{.workers = {ended(0, {0, 77}, 1)}});
  CHECK(text.find("error: rank 0 exited with code 77\n  where: ") == 0);
  for (const char* part : {"\n  why: ", "\n  try: "}) CHECK(text.find(part) != std::string::npos);
}

TEST_CASE("exit code 0 without word of having finished is a lost worker, not success") {
  const Verdict verdict = judge_workers({ended(0, {0, 0}, 1)});
  CHECK(verdict.code == ExitCode::kWorkerLost);
  CHECK(verdict.failure == Failure::kUnfinished);
}

TEST_CASE("a worker that reports an end and then exits otherwise did not end orderly") {
  WorkerRecord worker = finished(0, 0);
  worker.status = ExitStatus{SIGSEGV, 0};
  worker.ended_at = 1;
  CHECK(judge_workers({worker}).code == ExitCode::kWorkerLost);
}

TEST_CASE("the rank that a foreign signal killed is the origin even when a peer complained first") {
  const Verdict verdict = judge_workers({reported(0, 9, 1.0, "connection closed by peer"),
                                         ended(1, {SIGKILL, 0}, 1.1), ended_by_launcher(2, SIGTERM, 1.2)});
  CHECK(verdict.code == ExitCode::kWorkerLost);
  CHECK(verdict.failure == Failure::kSignal);
  CHECK(verdict.culprit == 1u);
  CHECK(verdict.follow_ons == std::vector<size_t>{0, 2});
}

TEST_CASE("among real failures the earliest counts") {
  CHECK(judge_workers({reported(0, 5, 2.0), reported(1, 7, 1.0)}).code == ExitCode::kDisk);
  CHECK(judge_workers({reported(0, 5, 1.0), reported(1, 7, 2.0)}).code == ExitCode::kDeviceMemory);
}

TEST_CASE("SIGKILL while the kernel killed for memory is host memory") {
  JobRecord job{.workers = {ended(0, {SIGKILL, 0}, 1)}};
  CHECK(judge(job).code == ExitCode::kWorkerLost);
  job.killed_for_memory = true;
  CHECK(judge(job).code == ExitCode::kHostMemory);
  CHECK(report_of(job).find("host memory ran out") != std::string::npos);
}

TEST_CASE("a stop that came before the workers could save is code 10") {
  JobRecord job{.workers = {ended_by_launcher(0, SIGTERM, 1)}, .stop_signal = SIGTERM};
  CHECK(judge(job).code == ExitCode::kTerminatedUnsaved);
  WorkerRecord told = ended(0, {0, 10}, 1);
  told.signals_sent = uint64_t{1} << SIGINT;
  job = {.workers = {told}, .stop_signal = SIGINT, .stop_forced = true};
  CHECK(judge(job).code == ExitCode::kTerminatedUnsaved);
  CHECK(report_of(job).find("a second signal asked to stop at once") != std::string::npos);
}

TEST_CASE("a second signal that came after all had saved costs nothing") {
  const JobRecord job{.workers = {finished(0, 143)}, .stop_signal = SIGTERM, .stop_forced = true};
  CHECK(judge(job).code == ExitCode::kTerminated);
}

namespace {

WorkerSnapshot snapshot_at(char state, uint64_t operations) {
  WorkerSnapshot snapshot;
  snapshot.process.state = state;
  snapshot.has_status = true;
  snapshot.status.phase = WorkPhase::kTraining;
  snapshot.status.operations = operations;
  snapshot.status.operation = "all-reduce";
  return snapshot;
}

}  // namespace

TEST_CASE("of a job that hangs the rank that was found is named") {
  const JobRecord job{.workers = {ended_by_launcher(0, SIGTERM, 1), ended_by_launcher(1, SIGKILL, 2)},
                      .hang = Hang{1, 70, 30},
                      .snapshots = {snapshot_at('S', 12), snapshot_at('S', 11)}};
  const Verdict verdict = judge(job);
  CHECK(verdict.code == ExitCode::kWorkerLost);
  CHECK(verdict.failure == Failure::kHung);
  CHECK(verdict.culprit == 1u);
  const std::string report = report_of(job);
  CHECK(report.find("rank 1 hangs") != std::string::npos);
  CHECK(report.find("has not begun collective operation number 12 (all-reduce)") != std::string::npos);
}

TEST_CASE("peers that complain of a hang do not hide who hangs, and a real failure does") {
  JobRecord job{.workers = {reported(0, 9, 1.0, "all-reduce failed"), ended_by_launcher(1, SIGKILL, 2)},
                .snapshots = {snapshot_at('S', 12), snapshot_at('S', 11)}};
  CHECK(judge(job).culprit == 0u);  // the connection may have broken while the other was at work
  job.waited_out = true;
  CHECK(judge(job).culprit == 1u);
  CHECK(judge(job).failure == Failure::kHung);
  job.snapshots[1].status.operations = 12;  // nothing tells them apart: the first complaint stands
  CHECK(judge(job).culprit == 0u);
  job.snapshots[1].process.state = 'T';
  CHECK(judge(job).culprit == 1u);
  job.workers.push_back(ended(2, {SIGSEGV, 0}, 3));
  CHECK(judge(job).culprit == 2u);
  CHECK(judge(job).failure == Failure::kSignal);
}

TEST_CASE("a crash note counts more than the signal that cut the crash short") {
  WorkerRecord worker = ended_by_launcher(0, SIGKILL, 1);
  worker.last_seen.crash = CrashNote{SIGSEGV, 1, 16, ""};
  const JobRecord job{.workers = {worker, reported(1, 9, 0.5)}};
  CHECK(judge(job).culprit == 0u);
  CHECK(report_of(job).find("rank 0 crashed with SIGSEGV") != std::string::npos);
}

TEST_CASE("a bad access in a mapped file is the disk's, in shared memory it is not") {
  WorkerRecord worker = ended(0, {SIGBUS, 0}, 1);
  worker.last_seen.crash = CrashNote{SIGBUS, 2, 4096, "/data/cache.bin"};
  CHECK(judge_workers({worker}).code == ExitCode::kDisk);
  worker.last_seen.crash->mapped_file = "/memfd:hftrain (deleted)";
  CHECK(judge_workers({worker}).code == ExitCode::kWorkerLost);
}

TEST_CASE("who ends a worker by a stop signal that the launcher did not send caused the end of the job") {
  const Verdict verdict = judge_workers({reported(0, 9, 1.0), ended(1, {SIGTERM, 0}, 1.1)});
  CHECK(verdict.code == ExitCode::kTerminatedUnsaved);
  CHECK(verdict.culprit == 1u);
}

TEST_CASE(
    "a rank that the kernel ends at its limit on processor time is told as that, and not started again") {
  const JobRecord job{.workers = {reported(0, 9, 1.0), ended(1, {SIGXCPU, 0}, 1.1)}};
  CHECK(judge(job).code == ExitCode::kTerminatedUnsaved);
  CHECK(report_of(job).find(
            "why: rank 1 reached the limit on processor time (ulimit -t) before it could save") !=
        std::string::npos);
}

TEST_CASE("the report of a killed rank names rank, signal, place, last lines, logs and what followed") {
  const JobRecord job{.workers = {reported(0, 9, 1.0, "connection closed by peer"),
                                  ended(1, {SIGKILL, 0}, 1.1), ended_by_launcher(2, SIGTERM, 1.2)}};
  CHECK(report_of(job) ==
        "error: rank 1 was killed by SIGKILL (signal 9)\n"
        "  where: rank 1 of 3 on cpu, pid 101, after update 5\n"
        "  why: something outside this job killed it: a user, a scheduler, an out-of-memory daemon such "
        "as earlyoom, or the kernel at a hard limit on processor time (ulimit -Ht)\n"
        "  try: start again: the run goes on from its newest checkpoint, if it has one; if it happens again, "
        "look at the "
        "scheduler's "
        "messages and the kernel's log (dmesg)\n"
        "  last lines of rank 1:\n"
        "    | last words\n"
        "  that failure ended the other ranks:\n"
        "    rank 0 exited with code 9: connection closed by peer\n"
        "    rank 2 ended by the launcher\n"
        "  logs: logs/1");
}

TEST_CASE("the report of a worker's own error carries its four parts") {
  const std::string text = report_of(JobRecord{.workers = {reported(0, 5, 1.0)}});
  CHECK(text.find("error: no memory left\n  where: w; rank 0 of 1 on cpu, pid 100, after update 5\n  why: "
                  "y\n  try: h") == 0);
}

TEST_CASE("the report of a meeting says on which nodes the ranks are that did not come") {
  JobRecord job{.workers = {reported(0, 9, 1.0), ended_by_launcher(1, SIGTERM, 2.0),
                            ended_by_launcher(2, SIGTERM, 2.0), ended_by_launcher(3, SIGTERM, 2.0)}};
  job.workers[2].node = job.workers[3].node = "node 1 (host-b)";
  CHECK(report_of(job).find("  why: y\n") != std::string::npos);
  job.workers[0].failed->data["missing_ranks"] = {1};
  CHECK(report_of(job).find("  why: y\n") != std::string::npos);
  job.workers[0].failed->data["missing_ranks"] = {2, 3};
  CHECK(report_of(job).find("  why: y; missing are ranks of node 1 (host-b)\n") != std::string::npos);
  job.workers[0].failed->data["missing_ranks"] = "2";
  CHECK(report_of(job).find("  why: y\n") != std::string::npos);
}

TEST_CASE("the crash record holds how the rank ended and its own account") {
  const JobRecord job{.workers = {reported(2, 5, 1.0)}};
  const FailureReport report = make_failure_report(job, judge(job), ReportFacts());
  const Json record = crash_record(job.workers[0], report, job);
  CHECK(record["rank"] == 2);
  CHECK(record["exit_code"] == 5);
  CHECK(record["signal"].is_null());
  CHECK(record["step"] == 5);
  CHECK(record["report"]["what"] == "no memory left");
}

TEST_CASE("the rank that failed is named, not one that reports its failure") {
  WorkerRecord relays = reported(0, 7, 1.0, "rank 1 could not save");
  relays.failed->data["of_rank"] = 1;
  const Verdict verdict = judge_workers({relays, reported(1, 7, 2.0, "cannot write model.safetensors")});
  CHECK(verdict.code == ExitCode::kDisk);
  CHECK(verdict.culprit == 1u);
  CHECK(verdict.follow_ons == std::vector<size_t>{0});
}

TEST_CASE("a run that is stopped at once has saved when a checkpoint was committed after the first signal") {
  JobRecord job{.workers = {ended_by_launcher(0, SIGKILL, 1), ended_by_launcher(1, SIGKILL, 1)}};
  job.stop_signal = SIGTERM;
  job.stop_forced = true;
  CHECK(judge(job).code == ExitCode::kTerminatedUnsaved);
  job.saved_after_stop = true;
  CHECK(judge(job).code == ExitCode::kTerminated);
  CHECK(report_of(job).find("after a checkpoint was committed") != std::string::npos);
  job.stop_signal = SIGINT;
  CHECK(judge(job).code == ExitCode::kInterrupted);
}

}  // namespace hftrain::launcher
