// A front program that follows, beside one that leads as the test says.
#include "launcher/front/follow_stage.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "../reserved_port.h"
#include "hftrain/plan/run_plan.h"
#include "launcher/control/leader.h"
#include "launcher/control/meeting.h"
#include "launcher/front/job.h"
#include "launcher/front/meeting_stage.h"
#include "support/catch.h"
#include "support/no_threads.h"
#include "support/refusal.h"
#include "support/temporary_directory.h"

namespace hftrain::front {
namespace {

using testing::TemporaryDirectory;

CommandContext context_of(std::ostream& terminal) {
  return {.arguments = {},
          .environment = Environment(),
          .program = "/proc/self/exe",
          .out = terminal,
          .err = terminal};
}

launcher::Membership membership_of_two(int agent, int port) {
  launcher::Membership membership;
  membership.started_by = "--nnodes";
  membership.agents = 2;
  membership.agent = agent;
  membership.meeting = launcher::Meeting::kFixedAddress;
  membership.master_host = "127.0.0.1";
  membership.master_port = port;
  return membership;
}

// Both, in one process, over the loopback address and one output folder.
class JobOfTwo {
 public:
  JobOfTwo() : output_dir_(folder_ / "out") {
    inputs_.output_dir = output_dir_;
    inputs_.parsed.arguments.output.output_dir = output_dir_;
    std::filesystem::create_directories(output_dir_ + "/hftrain");
    follower_ = std::thread([this] {
      reporting::Console console(terminal_, {});
      code_ = follow(context(), inputs_, membership(1), console);
    });
    launcher::Gathering gathering = launcher::gather_agents(
        meeting_spec(context(), inputs_, membership(0), nullptr), signals_, [](const std::string&) {});
    hub_ = std::move(gathering.hub);
    leader_.emplace(*hub_, signals_, [](const std::string&) {});
  }
  JobOfTwo(const JobOfTwo&) = delete;
  JobOfTwo& operator=(const JobOfTwo&) = delete;
  ~JobOfTwo() {
    if (follower_.joinable()) end(Error(ExitCode::kInternal, "the test ended"));
  }

  // The follower's plan, once it has taken it.
  std::string take_plan() {
    plan::RunPlan plan;
    plan.output_dir = output_dir_;
    return leader_
        ->ask_for<launcher::PlanTaken>(launcher::TakePlan{plan::to_json_value(plan), 0, "", {}},
                                       "to take the plan")
        .at(1)
        .path;
  }
  // Of a plan without ranks.
  void start_workers() {
    leader_->ask_for<launcher::WorkersGone>(launcher::StartWorkers{0, "127.0.0.1", 1},
                                            "to start its workers");
  }
  ExitCode end(const Error& error) {
    hub_->refuse_all(error);
    follower_.join();
    return code_;
  }
  std::string terminal() const { return terminal_.str(); }
  const std::string& output_dir() const { return output_dir_; }

 private:
  CommandContext context() { return context_of(terminal_); }
  launcher::Membership membership(int agent) const { return membership_of_two(agent, port_.number()); }

  TemporaryDirectory folder_;
  std::string output_dir_;
  testing::ReservedPort port_;
  Inputs inputs_;
  std::ostringstream terminal_;
  ExitCode code_ = ExitCode::kDone;
  launcher::StopSignals signals_;
  std::thread follower_;
  std::unique_ptr<launcher::ControlHub> hub_;
  std::optional<launcher::Leader> leader_;
};

}  // namespace

TEST_CASE("a follower writes nothing into a folder that may move back until ranks start") {
  JobOfTwo job;
  const std::string path = job.take_plan();
  CHECK(path == job.output_dir() + "/hftrain/nodes/1/plan.json");
  CHECK(std::filesystem::is_empty(job.output_dir() + "/hftrain"));
  job.start_workers();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("what goes wrong on a follower is told to the leader, an error of this program's own or not") {
  JobOfTwo job;
  const testing::NoThreads none;
  CHECK_REFUSED(job.take_plan(), "no thread can be started");
}

TEST_CASE("the terminal of a follower says why the job ended, not only that it did") {
  JobOfTwo job;
  Error error(ExitCode::kDisk, "cannot write the plan");
  error.where("/out/hftrain").why("no space is left").hint("free space");
  CHECK(job.end(error) == ExitCode::kDisk);
  CHECK_THAT(job.terminal(),
             Catch::Contains("ended the job: error: cannot write the plan: no space is left\n"));
  CHECK_THAT(job.terminal(), !Catch::Contains("/out/hftrain"));
}

TEST_CASE("why there is no run is said before the other front programs hear it and end") {
  const TemporaryDirectory folder;
  for (const bool as_they_meet : {true, false}) {
    INFO(as_they_meet);
    const testing::ReservedPort port;
    Inputs first, second;
    first.output_dir = second.output_dir = folder / "out";
    if (as_they_meet) second.parsed.arguments.run.max_steps = 7;
    std::ostringstream terminal, other_terminal;
    std::atomic<bool> over = false;
    std::thread follower([&] {
      reporting::Console console(other_terminal, {});
      try {
        follow(context_of(other_terminal), second, membership_of_two(1, port.number()), console);
      } catch (const Error&) {  // how a job that does not begin ends here
      }
      over = true;
    });
    int said = 0;
    const auto say = [&](const Error&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      said += over ? 100 : 1;
    };
    reporting::Console console(terminal, {});
    try {
      Job job(context_of(terminal), first, membership_of_two(0, port.number()), console, say);
      job.refuse(Error(ExitCode::kDisk, "no space"));
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kUsage);
    }
    follower.join();
    CHECK(said == 1);
  }
}

}  // namespace hftrain::front
