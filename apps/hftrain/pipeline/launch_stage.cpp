#include "pipeline/launch_stage.h"

#include <filesystem>
#include <set>
#include <utility>

#include "hftrain/base/clock.h"
#include "launcher/supervisor.h"
#include "pipeline/job_console.h"
#include "pipeline/run_record.h"

namespace hftrain::app {
namespace {

// Collectives name a missing rank at their own deadline; the launcher is the second line, for a rank that
// hangs outside of one. One rank alone has no deadline: a long step of it cannot be told from a hang.
launcher::Limits limits_of(const plan::RunPlan& plan) {
  constexpr double kAfterCollectives = 60;
  launcher::Limits limits;
  if (plan.ranks.world_size > 1) {
    limits.silence_seconds = static_cast<double>(plan.ranks.timeout_seconds) + kAfterCollectives;
  }
  return limits;
}

std::map<std::string, std::string> added_variables(const Environment& inherited, const Environment& own) {
  std::map<std::string, std::string> added;
  for (const auto& [name, value] : own.variables()) {
    if (inherited.get(name) != value) added[name] = value;
  }
  return added;
}

}  // namespace

launcher::LocalLaunch local_launch(const std::string& program, const Inputs& inputs,
                                   const plan::RunPlan& plan) {
  launcher::LocalLaunch launch;
  launch.worker_program = (std::filesystem::path(program).parent_path() / "hftrain-worker").string();
  launch.plan_path = run_folder(plan.output_dir).plan();
  launch.environment = inputs.environment;
  launch.master_address = "127.0.0.1";
  launch.attempt = next_attempt(run_folder(plan.output_dir, inputs.parsed.arguments.launch.log_dir));
  return launch;
}

std::vector<plan::WorkerCommand> worker_commands(const launcher::LocalLaunch& launch,
                                                 const plan::RunPlan& plan) {
  std::vector<plan::WorkerCommand> commands;
  std::set<int> agents;
  for (const plan::RankPlan& rank : plan.ranks.ranks) agents.insert(rank.agent);
  launcher::LocalLaunch one = launch;
  for (const int agent : agents) {
    one.agent = agent;
    for (const launcher::WorkerSpec& worker : launcher::local_workers(plan.ranks, one)) {
      commands.push_back({worker.rank, worker.argv, added_variables(launch.environment, worker.environment)});
    }
  }
  return commands;
}

ExitCode run_workers(const CommandContext& context, const Inputs& inputs, const plan::RunPlan& plan,
                     Job& others, Stopwatch& stopwatch, reporting::Console& console) {
  const RunFolder folder = run_folder(plan.output_dir);
  launcher::LocalLaunch launch = local_launch(context.program, inputs, plan);
  launcher::JobSpec job;
  job.rendezvous = others.bind_store(plan);
  launch.master_address = job.rendezvous.address;
  launch.master_port = job.rendezvous.port;
  job.hub = others.hub();
  job.others = others.others(plan, launch.attempt, launch.master_port);
  job.workers = launcher::local_workers(plan.ranks, launch);
  const arguments::LaunchArguments& asked = inputs.parsed.arguments.launch;
  job.output = {run_folder(plan.output_dir, asked.log_dir).ranks() + '/' + std::to_string(launch.attempt),
                launcher::OutputFilter(asked.log_ranks, asked.tee, asked.redirects)};
  job.limits = limits_of(plan);

  stopwatch.end();
  JobConsole observer(console, plan, monotonic_seconds());
  const launcher::JobResult result = launcher::Supervisor(std::move(job), observer).run();
  console.clear();

  SummaryFacts facts{result.code, result.reason, stopwatch.seconds(), stopwatch.total(), result.workers};
  facts.phases["spawn"] = observer.spawn_seconds();
  Json summary = make_summary(facts);
  if (!plan.logging.run_name.empty()) summary["run_name"] = plan.logging.run_name;
  write_summary(folder, summary);
  if (result.failure) console.line(result.failure->render());
  others.end(result.code, result.failure ? result.failure->summary.what : "");
  return result.code;
}

}  // namespace hftrain::app
