#include "launcher/supervision/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "hftrain/base/clock.h"
#include "hftrain/base/error.h"
#include "hftrain/base/json.h"
#include "job.h"
#include "launcher/control/hub.h"
#include "launcher/process/output_router.h"
#include "launcher/supervision/worker_group.h"
#include "support/catch.h"
#include "support/no_threads.h"
#include "support/paths.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::launcher {
namespace {

using Kind = plan::WorkerEvent::Kind;
using testing::Job;

void send_to_self(int signal) {
  ::kill(::getpid(), signal);
}

bool no_child_is_left() {
  return ::waitpid(-1, nullptr, WNOHANG) == -1;
}

// Calls `act` when `count` events of a kind have come.
std::function<void(const plan::WorkerEvent&)> after(Kind kind, int count, std::function<void()> act) {
  return [=, seen = 0](const plan::WorkerEvent& event) mutable {
    if (event.kind == kind && ++seen == count) act();
  };
}

}  // namespace

TEST_CASE("workers that finish make a job that is done", "[process]") {
  Job job;
  const JobResult result = job.run({"ready step:1 log print:hello finish:0", "ready step:1 finish:0"});
  CHECK(result.code == ExitCode::kDone);
  CHECK_FALSE(result.failure);
  CHECK(result.workers[0].step == 1);
  CHECK(result.workers[1].finished.has_value());
  CHECK(job.observer.has_line("hello"));
  CHECK(job.observer.notices.empty());
  CHECK(no_child_is_left());
}

TEST_CASE("events carry the rank of the pipe they came on, and what is no event is passed over",
          "[process]") {
  Job job;
  const JobResult result = job.run({"ready finish:0", "garbage ready finish:0"});
  CHECK(result.code == ExitCode::kDone);
  const auto from_second = std::count_if(job.observer.events.begin(), job.observer.events.end(),
                                         [](const plan::WorkerEvent& event) { return event.rank == 1; });
  CHECK(from_second == 2);
}

TEST_CASE("workers see the variables and descriptors of the protocol", "[process]") {
  Job job;
  JobSpec spec = testing::job_of(job.folder.path(),
                                 {"descriptors variable:RANK ready finish:0", "descriptors finish:0"});
  spec.workers[0].environment.set("RANK", "0");
  CHECK(Supervisor(std::move(spec), job.observer).run().code == ExitCode::kDone);
  CHECK(job.observer.has_line("0"));
  // 3 is the control descriptor, 4 the rendezvous socket, which only rank 0 has, 5 the status page.
  const auto line_of = [&](int rank) {
    for (const OutputLine& line : job.observer.lines) {
      if (line.rank == rank && line.text.rfind("descriptors", 0) == 0) return line.text;
    }
    return std::string();
  };
  CHECK(line_of(0).size() == std::string("descriptors 0 1 2 3 4 5").size());
  CHECK(line_of(1).size() == std::string("descriptors 0 1 2 3 5").size());
}

TEST_CASE("a killed rank ends the job with code 9 and is named, with its last lines and logs", "[process]") {
  Job job;
  const double start = monotonic_seconds();
  const JobResult result =
      job.run({"ready ignore-stops hang", "ready step:4 error:farewell signal:9", "ready hang"});
  CHECK(result.code == ExitCode::kWorkerLost);
  REQUIRE(result.failure);
  CHECK(result.failure->rank == 1);
  CHECK(result.failure->last_lines == std::vector<std::string>{"farewell"});
  std::vector<std::string> follow_ons = result.failure->follow_ons;
  std::sort(follow_ons.begin(), follow_ons.end());  // which of the two is seen first is chance
  CHECK(follow_ons ==
        std::vector<std::string>{"rank 0 ended by the launcher", "rank 2 ended by the launcher"});
  CHECK(read_file(result.failure->logs + "/stderr.log") == "farewell\n");
  const Json record = read_json_file(result.failure->logs + "/error.json");
  CHECK(record["signal"] == 9);
  CHECK(record["step"] == 4);
  CHECK(no_child_is_left());
  INFO("seconds: " << monotonic_seconds() - start);
}

TEST_CASE("a worker's own report decides the exit code, whatever its peers say", "[process]") {
  for (const int code : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    Job job;
    const JobResult result = job.run({"ready hang", "ready fail:" + std::to_string(code)});
    CHECK(static_cast<int>(result.code) == code);
    REQUIRE(result.failure);
    CHECK(result.failure->rank == 1);
    CHECK(result.failure->summary.what == "it broke");
    CHECK(result.failure->summary.hint == "buy a new one");
  }
}

TEST_CASE("a rank's report survives that no thread is left to write with", "[process]") {
  Job job;
  HubSpec alone;
  alone.hello.agents = 1;
  alone.addresses = {"127.0.0.1"};
  ControlHub hub(std::move(alone));
  JobSpec spec = testing::job_of(job.folder.path(), {"ready fail:4"});
  spec.hub = &hub;
  spec.others.emplace();
  std::optional<testing::NoThreads> none;
  job.observer.when_event = after(Kind::kFailed, 1, [&] { none.emplace(); });
  const JobResult result = Supervisor(std::move(spec), job.observer).run();
  none.reset();
  CHECK(result.code == ExitCode::kData);
  REQUIRE(result.failure);
  CHECK(result.failure->summary.what == "it broke");
  REQUIRE_FALSE(job.observer.notices.empty());
  CHECK_THAT(job.observer.notices.back(), Catch::Contains("no thread can be started"));
}

TEST_CASE("a worker's error is shown once: in the report, not also as output of the rank", "[process]") {
  Job job;
  const JobResult result = job.run({"ready error:context fail-aloud:4"});
  CHECK(result.code == ExitCode::kData);
  CHECK_FALSE(job.observer.has_line("error: it broke"));
  CHECK(result.failure->last_lines == std::vector<std::string>{"context"});
  CHECK(read_file(result.failure->logs + "/stderr.log") == "context\nerror: it broke\n  more\n");
}

TEST_CASE("a worker that dies before it is ready ends the job", "[process]") {
  Job job;
  const JobResult result = job.run({"hang", "exit:77"});
  CHECK(result.code == ExitCode::kWorkerLost);
  CHECK(result.failure->summary.where.find("before it was ready") != std::string::npos);
}

TEST_CASE("a worker that leaves with 0 but never said that it finished is not success", "[process]") {
  Job job;
  CHECK(job.run({"ready exit:0"}).code == ExitCode::kWorkerLost);
}

TEST_CASE("a program that is missing is reported before anything runs", "[process]") {
  Job job;
  JobSpec spec = testing::job_of(job.folder.path(), {"ready hang", "ready hang"});
  spec.workers[1].argv[0] = "/no/such/worker";
  Supervisor supervisor(std::move(spec), job.observer);
  CHECK_REFUSED(supervisor.run(), "/no/such/worker");
  CHECK(no_child_is_left());
}

TEST_CASE("a flood on standard error loses nothing and does not stop events", "[process]") {
  Job job;
  const JobResult result = job.run({"ready flood:5000000 step:1 finish:0"});
  CHECK(result.code == ExitCode::kDone);
  CHECK(read_file(job.folder / "0/stderr.log").size() == 5000000);
  CHECK(job.observer.lines.size() == 50000);
}

TEST_CASE("a log folder that takes nothing leaves the ranks' output in their pipes", "[process][slow]") {
  const hftrain::testing::TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "0");
  REQUIRE(::mkfifo((folder / "0/stderr.log").c_str(), 0600) == 0);  // to open it takes until somebody reads
  size_t lines = 0;
  OutputRouter router(
      {folder.path(), OutputFilter("all", "0")}, {0}, [&lines](const OutputLine&) { ++lines; },
      [](const std::string&) {});
  WorkerSpec worker;
  worker.argv = {hftrain::testing::program("dummy_worker"), "ready", "flood:300000000", "hang"};
  WorkerGroup group({worker}, -1);
  group.start();
  const auto turn = [&] {
    std::vector<pollfd> watched;
    group.append_descriptors(watched);
    ::poll(watched.data(), watched.size(), 1);
    group.read_ready(watched, router);
  };
  while (!router.is_behind()) turn();
  turn();  // what was to be read when it came behind
  const size_t taken = lines;
  CHECK(taken > 0);
  for (int i = 0; i < 200; ++i) turn();
  CHECK(lines == taken);
  group.kill_all();
  while (!group.processes_gone()) turn();
  const FileDescriptor reader(::open((folder / "0/stderr.log").c_str(), O_RDONLY | O_NONBLOCK));
}

TEST_CASE("the last line counts even without a newline", "[process]") {
  Job job;
  job.run({"partial:unfinished exit:4"});
  CHECK(job.observer.has_line("unfinished"));
}

TEST_CASE("a worker that closes its control pipe and lives is ended with the others", "[process]") {
  Job job;
  const JobResult result = job.run({"ready close-control hang", "ready fail:8"});
  CHECK(result.code == ExitCode::kDiverged);
  CHECK(no_child_is_left());
}

TEST_CASE("a process that a worker leaves in its group is ended with it", "[process]") {
  Job job;
  CHECK(job.run({"ready child finish:0"}).code == ExitCode::kDone);
  CHECK(job.observer.notices.empty());
}

TEST_CASE("a process in a session of its own that holds a pipe is not waited for", "[process]") {
  Job job;
  const JobResult result = job.run({"ready stray finish:0"});
  CHECK(result.code == ExitCode::kDone);
  REQUIRE(job.observer.notices.size() == 1);
  CHECK(job.observer.notices[0].find("not waiting for it") != std::string::npos);
  for (const OutputLine& line : job.observer.lines) {
    if (line.text.rfind("stray ", 0) == 0) ::kill(std::stoi(line.text.substr(6)), SIGKILL);
  }
}

TEST_CASE("each signal is passed on once, and workers that save make the code of an orderly stop",
          "[process]") {
  const auto [signal, code] =
      GENERATE(std::pair(SIGTERM, 143), std::pair(SIGUSR1, 143), std::pair(SIGUSR2, 143),
               std::pair(SIGHUP, 143), std::pair(SIGXCPU, 143), std::pair(SIGINT, 130));
  Job job;
  job.observer.when_event = after(Kind::kReady, 2, [signal = signal] { send_to_self(signal); });
  const std::string script = "save-on-stop:" + std::to_string(code) + " ready hang";
  const JobResult result = job.run({script, script});
  CHECK(static_cast<int>(result.code) == code);
  CHECK_FALSE(result.failure);
  REQUIRE(job.observer.notices.size() == 1);
  CHECK(job.observer.notices[0].find(signal_name(signal)) == 0);
  CHECK(std::count_if(job.observer.lines.begin(), job.observer.lines.end(),
                      [](const OutputLine& line) { return line.text == "saved"; }) == 2);
}

TEST_CASE("a stop before the workers can handle it is code 10", "[process]") {
  Job job;
  job.observer.when_line = [](const OutputLine&) { send_to_self(SIGTERM); };
  const JobResult result = job.run({"print:here hang"});
  CHECK(result.code == ExitCode::kTerminatedUnsaved);
  CHECK(result.failure->summary.what == "stopped before a checkpoint could be committed");
}

TEST_CASE("a second signal ends workers that would not leave, with code 10", "[process]") {
  Job job;
  job.observer.when_event = after(Kind::kReady, 2, [] { send_to_self(SIGINT); });
  job.observer.when_notice = [sent = false](const std::string&) mutable {
    if (!sent) send_to_self(SIGINT);
    sent = true;
  };
  const JobResult result = job.run({"ignore-stops ready hang", "ignore-stops ready hang"});
  CHECK(result.code == ExitCode::kTerminatedUnsaved);
  REQUIRE(job.observer.notices.size() == 2);
  CHECK(job.observer.notices[1].find("without saving") != std::string::npos);
  CHECK(no_child_is_left());
}

TEST_CASE("two different signals of one moment, as systemd sends them, are one wish", "[process]") {
  Job job;
  job.observer.when_event = after(Kind::kReady, 1, [] {
    send_to_self(SIGTERM);
    send_to_self(SIGHUP);
  });
  // Takes its signals late, so that a second one is there when it looks.
  const JobResult result = job.run({"save-on-stop:143 ready sleep:300 hang"});
  CHECK(result.code == ExitCode::kTerminated);
  CHECK(job.observer.notices.size() == 1);
}

TEST_CASE("the same signal again is a second wish when its moment is over, whatever came in between",
          "[process]") {
  // Each line comes with a signal. Those 0.4 s apart are within the window of the one before, but not all of the first.
  const auto* lines = GENERATE("sleep:1000 print:again",
                               "sleep:400 print:a sleep:400 print:b sleep:400 print:c sleep:400 print:d");
  Job job;
  job.observer.when_event = after(Kind::kReady, 1, [] { send_to_self(SIGTERM); });
  job.observer.when_line = [](const OutputLine&) { send_to_self(SIGTERM); };
  const JobResult result = job.run({std::string("ignore-stops ready ") + lines + " hang"});
  CHECK(result.code == ExitCode::kTerminatedUnsaved);
  REQUIRE(job.observer.notices.size() >= 2);
  CHECK(job.observer.notices[1].find("without saving") != std::string::npos);
}

TEST_CASE("who stops a job that does not train is promised no save", "[process]") {
  const auto told = [](bool trains) {
    Job job;
    job.trains = trains;
    job.observer.when_event = after(Kind::kReady, 1, [] { send_to_self(SIGTERM); });
    job.observer.when_line = [](const OutputLine&) { send_to_self(SIGTERM); };
    CHECK(job.run({"ignore-stops ready sleep:1000 print:again hang"}).code == ExitCode::kTerminatedUnsaved);
    std::string notices;
    for (const std::string& notice : job.observer.notices) notices += notice + '\n';
    return notices;
  };
  const std::string evaluates = told(false);
  CHECK(evaluates.find("SIGTERM: stopping after this batch") == 0);
  CHECK(evaluates.find("SIGTERM again: stopping now\n") != std::string::npos);
  CHECK(told(true).find("SIGTERM: stopping after this update and saving") == 0);
}

TEST_CASE("a scheduler's signal while the job stops for time costs no save; a second one does", "[process]") {
  const auto [signals, code] =
      GENERATE(std::pair(1, ExitCode::kTerminated), std::pair(2, ExitCode::kTerminatedUnsaved));
  Job job;
  job.limits.end_time = unix_seconds() + 1;
  job.observer.when_notice = [said = 0, most = signals](const std::string&) mutable {
    ++said;  // that time is over, that it stops, what the signal means
    if (said == 1) send_to_self(SIGUSR1);
    if (said == 3 && most == 2) send_to_self(SIGINT);
  };
  const JobResult result = job.run({"save-on-stop:143 ready step:1 sleep:2500 hang"});
  CHECK(result.code == code);
  CHECK(result.stop_asked);
  REQUIRE(job.observer.notices.size() >= 3);
  CHECK(job.observer.notices[0].find("the time of this job is over") == 0);
  CHECK(job.observer.notices[2].find("SIGUSR1: the run is stopping and saving already") == 0);
}

TEST_CASE("a worker that fails while the job stops gives its own code", "[process]") {
  Job job;
  job.observer.when_event = after(Kind::kReady, 1, [] { send_to_self(SIGTERM); });
  CHECK(job.run({"save-on-stop:7 ready hang"}).code == ExitCode::kDisk);
}

namespace {

// A hang is found a moment after nothing has been said for a second, in which a worker has started.
constexpr HangLimits kShort{.startup_seconds = 1,
                            .least_seconds = 0.25,
                            .most_seconds = 60,
                            .multiple = 10,
                            .confirm_seconds = 0.5,
                            .alone = false};

}  // namespace

TEST_CASE("a stopped rank is named with what the others wait for, and the job is ended", "[process][alone]") {
  Job job;
  job.limits.hang = kShort;
  const std::string before = "answer ready phase:2 operation:all-reduce step:3 ";
  const JobResult result = job.run({before + "operation:all-gather hang", before + "stop-self"});
  CHECK(result.code == ExitCode::kWorkerLost);
  REQUIRE(result.failure);
  CHECK(result.failure->rank == 1);
  CHECK(result.failure->summary.what == "rank 1 hangs: its process was stopped");
  CHECK(result.failure->summary.where.find("after update 3") != std::string::npos);
  CHECK(result.failure->summary.why.find("has not begun collective operation number 2 (all-gather)") !=
        std::string::npos);
  CHECK(result.failure->stack.empty());
  const Json record = read_json_file(result.failure->logs + "/error.json");
  CHECK(record["ranks"][1]["process"] == "stopped (state T)");
  CHECK_FALSE(record["ranks"][0]["status"]["stack"].empty());
  CHECK(no_child_is_left());
}

TEST_CASE("a rank that does not come to a collective operation is named, with its stack",
          "[process][alone]") {
  Job job;
  job.limits.hang = kShort;
  const std::string before = "answer ready phase:2 operation:all-reduce ";
  const JobResult result = job.run({before + "operation:all-reduce hang", before + "hang"});
  REQUIRE(result.failure);
  CHECK(result.failure->rank == 1);
  CHECK(result.failure->summary.what == "rank 1 hangs");
  REQUIRE_FALSE(result.failure->stack.empty());
  CHECK(join(result.failure->stack, "\n").find("sigsuspend") != std::string::npos);
}

TEST_CASE("a rank that computes is not taken for one that hangs", "[process][alone]") {
  Job job;
  job.limits.hang = kShort;
  const std::string before = "answer ready phase:2 operation:all-reduce step:1 step:2 step:3 step:4 ";
  SECTION("until the patience with it is over") {
    job.limits.hang.startup_seconds = 2.5;
    const double start = monotonic_seconds();
    const JobResult result = job.run({before + "operation:all-reduce hang", before + "busy"});
    CHECK(result.failure->rank == 1);
    CHECK(monotonic_seconds() - start >= 2.5);
  }
  SECTION("and one rank alone may do so for ever") {
    job.limits.hang.alone = true;
    job.observer.when_event = after(Kind::kLog, 1, [] { send_to_self(SIGTERM); });
    CHECK(job.run({before + "sleep:1000 log busy"}).code == ExitCode::kTerminatedUnsaved);
  }
}

TEST_CASE("a rank that goes on without a word is left alone", "[process][alone]") {
  Job job;
  job.limits.hang = kShort;
  std::string script = "answer ready phase:2 ";
  for (int i = 0; i < 30; ++i) script += "operation:all-reduce sleep:100 ";
  CHECK(job.run({script + "finish:0", script + "finish:0"}).code == ExitCode::kDone);
}

TEST_CASE("a worker that never gets ready is waited for aloud and ended by the limit", "[process][alone]") {
  Job job;
  job.limits.hang = kShort;
  job.limits.patience_seconds = 1;  // in which the other one is ready
  const JobResult result = job.run({"ready hang", "hang"});
  CHECK(result.code == ExitCode::kWorkerLost);
  CHECK(result.failure->rank == 1);
  REQUIRE_FALSE(job.observer.notices.empty());
  CHECK(job.observer.notices[0].find("still waiting for rank 1") == 0);
}

TEST_CASE("a stopped rank is named even when its peers complain before the launcher looks", "[process]") {
  Job job;
  const JobResult result = job.run({"answer ready await-stopped fail:9", "answer ready stop-self"});
  CHECK(result.code == ExitCode::kWorkerLost);
  CHECK(result.failure->rank == 1);
  CHECK(result.failure->summary.why.find("gave up waiting") != std::string::npos);
}

TEST_CASE("a crash leaves its place: the report and error.json have the stack", "[process]") {
  Job job;
  const JobResult result = job.run({"ready hang", "answer ready operation:all-reduce step:7 bad-access"});
  CHECK(result.code == ExitCode::kWorkerLost);
  REQUIRE(result.failure);
  CHECK(result.failure->summary.what == "rank 1 crashed with SIGSEGV (signal 11)");
  CHECK(join(result.failure->stack, "\n").find("dummy_worker") != std::string::npos);
  const Json record = read_json_file(result.failure->logs + "/error.json");
  CHECK(record["last_seen"]["crash"]["address"] == 8);
  CHECK(record["last_seen"]["operation"] == "all-reduce");
  CHECK(record["stack"].size() == result.failure->stack.size());
}

TEST_CASE("a mapped file that cannot be read is a disk failure that names the file", "[process]") {
  Job job;
  const std::string path = job.folder / "data.bin";
  const JobResult result = job.run({"answer ready bad-file:" + path});
  CHECK(result.code == ExitCode::kDisk);
  CHECK(result.failure->summary.why.find(path) == 0);
}

TEST_CASE("a stop signal that ends a worker before it can handle it is code 10", "[process]") {
  Job job;
  const JobResult result = job.run({"ready hang", "signal:15"});
  CHECK(result.code == ExitCode::kTerminatedUnsaved);
  CHECK(result.failure->rank == 1);
}

TEST_CASE("a grace period of zero kills at once", "[process]") {
  Job job;
  job.limits.grace_seconds = 0;
  CHECK(job.run({"ignore-stops ready hang", "ready fail:5"}).code == ExitCode::kDeviceMemory);
  CHECK(no_child_is_left());
}

TEST_CASE("signals act as before once the job is over", "[process]") {
  sigset_t before, afterwards;
  ::sigprocmask(SIG_SETMASK, nullptr, &before);
  Job job;
  job.run({"ready finish:0"});
  ::sigprocmask(SIG_SETMASK, nullptr, &afterwards);
  CHECK(sigismember(&afterwards, SIGTERM) == sigismember(&before, SIGTERM));
}

TEST_CASE("no descriptor is left open when a job is over", "[process]") {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  Job().run({"ready finish:0", "ready fail:4"});
  CHECK(open_descriptors() == before);
}

namespace {

// A launcher in its own process. Reads what it says up to a line that starts with `text`.
class LauncherProcess {
 public:
  explicit LauncherProcess(const std::string& folder, std::vector<std::string> scripts)
      : child_({arguments(folder, std::move(scripts)), Environment(), {}}) {}

  std::string line_starting_with(const std::string& text) {
    for (;;) {
      const size_t end = pending_.find('\n');
      if (end == std::string::npos) {
        if (!read_more()) return "";
        continue;
      }
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (line.rfind(text, 0) == 0) return line;
    }
  }
  ChildProcess& child() { return child_; }

 private:
  static std::vector<std::string> arguments(const std::string& folder, std::vector<std::string> scripts) {
    scripts.insert(scripts.begin(), {hftrain::testing::program("dummy_launcher"),
                                     hftrain::testing::program("dummy_worker"), folder, "0.2"});
    return scripts;
  }
  bool read_more() {
    pollfd ready{child_.standard_output().get(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    char buffer[4096];
    const ssize_t count = ::read(ready.fd, buffer, sizeof(buffer));
    if (count > 0) pending_.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  ChildProcess child_;
  std::string pending_;
};

// Waits for the end of any process, not only of a child.
bool ends_within(int pidfd, int seconds) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, 1000 * seconds) == 1;
}

}  // namespace

TEST_CASE("a launcher killed with -9 leaves no worker behind", "[process]") {
  const hftrain::testing::TemporaryDirectory folder;
  LauncherProcess launcher(folder.path(), {"ignore-stops ready hang", "ignore-stops ready hang"});
  launcher.line_starting_with("ready");
  launcher.line_starting_with("ready");
  std::vector<FileDescriptor> workers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string status = entry.path().string() + "/stat";
    if (entry.path().filename().string().find_first_not_of("0123456789") != std::string::npos) continue;
    std::string text;
    try {
      text = read_file(status);
    } catch (const Error&) {
      continue;  // it has ended meanwhile
    }
    const std::vector<std::string> fields = split_words(text.substr(text.rfind(')') + 1));
    if (fields[1] != std::to_string(launcher.child().pid())) continue;
    const int pid = std::stoi(entry.path().filename().string());
    workers.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  REQUIRE(workers.size() == 2);
  ::kill(launcher.child().pid(), SIGKILL);
  for (const FileDescriptor& worker : workers) CHECK(ends_within(worker.get(), 60));
}

TEST_CASE("a launcher that is sent SIGTERM ends with the workers' code", "[process]") {
  const hftrain::testing::TemporaryDirectory folder;
  LauncherProcess launcher(folder.path(), {"save-on-stop:143 ready hang"});
  launcher.line_starting_with("ready");
  launcher.child().send(SIGTERM);
  CHECK(launcher.line_starting_with("notice SIGTERM: stopping").find("may take") != std::string::npos);
  CHECK(launcher.line_starting_with("output saved") == "output saved");
  pollfd ended{launcher.child().exit_descriptor(), POLLIN, 0};
  ::poll(&ended, 1, -1);
  CHECK(launcher.child().reap() == ExitStatus{0, 143});
}

}  // namespace hftrain::launcher
