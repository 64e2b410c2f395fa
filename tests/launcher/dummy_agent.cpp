// A front program of a job of several, for tests that signal, kill or mislead one:
//
//   dummy_agent WORKER FOLDER AGENTS AGENT HOST PORT SECONDS BUILD KEY=VALUE SCRIPT…
//
// SECONDS: how long it waits for the others. BUILD, KEY=VALUE: what it says of its program and its arguments.
// The job's secret is in HFTRAIN_JOB_SECRET, if there is one.
// One rank per SCRIPT: the number of the agent that starts it, then words for dummy_worker. "each" instead of
// a number: one such rank per agent. Says on stdout what it sees; exits with the job's code.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "launcher/control/follower.h"
#include "launcher/control/job_secret.h"
#include "launcher/control/meeting.h"
#include "launcher/control/own_machine.h"
#include "launcher/supervision/supervisor.h"

namespace {

using namespace hftrain::launcher;  // NOLINT(google-build-using-namespace): a test program of one page
using hftrain::Error;

class Talker : public WorkerObserver {
 public:
  void on_event(const hftrain::plan::WorkerEvent& event) override {
    if (event.kind == hftrain::plan::WorkerEvent::Kind::kReady)
      std::cout << "ready " << event.rank << std::endl;
  }
  void on_output(const OutputLine& line) override {
    std::cout << "output " << line.rank << ' ' << line.text << std::endl;
  }
  void on_notice(const std::string& text) override { std::cout << "notice " << text << std::endl; }
};

struct Script {
  int agent = 0;
  WorkerSpec worker;
};

std::vector<Script> scripts_of(int argc, char** argv, int first, int agents) {
  std::vector<Script> scripts;
  for (int i = first; i < argc; ++i) {
    const std::vector<std::string> words = hftrain::split_words(argv[i]);
    const bool each = words.front() == "each";
    const int begin = each ? 0 : std::atoi(words.front().c_str()), end = each ? agents : begin + 1;
    for (int agent = begin; agent < end; ++agent) {
      Script script;
      script.agent = agent;
      script.worker.rank = static_cast<int>(scripts.size());
      script.worker.argv = {argv[1]};
      script.worker.argv.insert(script.worker.argv.end(), words.begin() + 1, words.end());
      script.worker.serves_store = script.worker.rank == 0;
      scripts.push_back(std::move(script));
    }
  }
  return scripts;
}

std::vector<WorkerSpec> workers_of(const std::vector<Script>& scripts, int agent) {
  std::vector<WorkerSpec> workers;
  for (const Script& script : scripts) {
    if (script.agent == agent) workers.push_back(script.worker);
  }
  return workers;
}

void say(const std::string& text) {
  std::cout << "notice " << text << std::endl;
}

// "hang=4" among its arguments: a job in which nothing goes on for four seconds hangs.
HangLimits hang_limits(const MeetingSpec& spec) {
  const auto& arguments = spec.introduction.arguments;
  const auto seconds = arguments.find("hang");
  if (seconds == arguments.end()) return {.most_seconds = 0};
  return {.startup_seconds = std::atof(seconds->second.c_str()),
          .least_seconds = 1,
          .most_seconds = 60,
          .multiple = 10,
          .confirm_seconds = 2.5,
          .alone = false};
}

int lead(MeetingSpec spec, const std::vector<Script>& scripts, const std::string& folder) {
  StopSignals signals;
  const HangLimits hang = hang_limits(spec);
  Gathering gathering = gather_agents(std::move(spec), signals, say);
  std::cout << "gathered" << std::endl;
  JobSpec job;
  job.workers = workers_of(scripts, 0);
  job.output = {folder, OutputFilter("all", "0")};
  job.rendezvous = bind_rendezvous();
  job.limits.hang = hang;
  job.hub = gathering.hub.get();
  job.others.emplace();
  for (const Script& script : scripts) {
    if (script.agent == 0) continue;
    job.others->workers.push_back({script.worker.rank, script.agent, "cpu"});
    job.others->master_addresses[script.agent] = "127.0.0.1";
  }
  try {
    Talker talker;
    const JobResult result = Supervisor(std::move(job), talker).run();
    if (result.failure) std::cout << result.failure->render() << std::endl;
    gathering.hub->finish(JobVerdict{static_cast<int>(result.code), result.reason, nullptr}, 5);
    return static_cast<int>(result.code);
  } catch (const Error& error) {
    gathering.hub->refuse_all(error);
    throw;
  }
}

int follow(MeetingSpec spec, const std::vector<Script>& scripts, const std::string& folder) {
  const int agent = spec.membership.agent;
  StopSignals signals;
  Joined joined = join_leader(std::move(spec), signals, say);
  Follower follower(joined.link, joined.leader, signals);
  while (!follower.verdict()) {
    const Message message = follower.next();
    if (!std::holds_alternative<StartWorkers>(message)) continue;
    try {
      follower.run(workers_of(scripts, agent), {folder, OutputFilter("all", "0")});
    } catch (const JobEnded&) {
      throw;
    } catch (const Error& error) {
      follower.say(failure_of(error));
    }
  }
  follower.leave();
  std::cout << "verdict " << follower.verdict()->text << std::endl;
  return follower.verdict()->exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  MeetingSpec spec;
  spec.membership.agents = std::atoi(argv[3]);
  spec.membership.agent = std::atoi(argv[4]);
  spec.membership.meeting = Meeting::kFixedAddress;
  spec.membership.master_host = argv[5];
  spec.membership.master_port = std::atoi(argv[6]);
  spec.membership.meeting_seconds = std::atof(argv[7]);
  spec.notice_seconds = 0.2;
  spec.secret = hftrain::Environment::of_process().get_or(kSecretVariable, "");
  spec.version = "1.0";
  spec.build = argv[8];
  const std::vector<std::string> argument = hftrain::split(argv[9], '=');
  spec.introduction.arguments[argument.at(0)] = argument.at(1);
  spec.introduction.facts = own_facts(spec.membership, {}, {}, false);
  spec.introduction.facts.host = "host-" + std::to_string(spec.membership.agent);
  const std::vector<Script> scripts = scripts_of(argc, argv, 10, spec.membership.agents);
  const std::string folder = std::string(argv[2]) + '/' + std::to_string(spec.membership.agent);
  try {
    return spec.membership.leads() ? lead(std::move(spec), scripts, folder)
                                   : follow(std::move(spec), scripts, folder);
  } catch (const Error& error) {
    std::cout << error.render() << std::endl;
    return static_cast<int>(error.code());
  }
}
