#include "launcher/front/launch_stage.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "hftrain/arguments/import/launch.h"
#include "hftrain/base/caught_error.h"
#include "hftrain/base/clock.h"
#include "hftrain/base/secrets.h"
#include "hftrain/base/text.h"
#include "hftrain/storage/checkpoint_folder.h"
#include "hftrain/storage/file_system.h"
#include "hftrain/storage/output_place.h"
#include "launcher/control/message.h"
#include "launcher/front/attempts.h"
#include "launcher/front/batch_search.h"
#include "launcher/front/cpu_binding_stage.h"
#include "launcher/front/end_of_time.h"
#include "launcher/front/event_log.h"
#include "launcher/front/hub_pusher.h"
#include "launcher/front/job_console.h"
#include "launcher/front/patient_stream.h"
#include "launcher/front/rank_output.h"
#include "launcher/front/rank_words.h"
#include "launcher/front/run_record.h"
#include "launcher/front/told_in_a_line.h"
#include "launcher/supervision/stop_signals.h"
#include "launcher/supervision/supervisor.h"

namespace hftrain::front {
namespace {

constexpr double kSecondsOfAWait = 0.5, kQuietSecondsOfPushing = 3;

// The earlier of Slurm's end and that of --max_time; `seconds` have passed since the start.
std::optional<double> end_of_run(const Inputs& inputs, std::optional<double> end, double seconds) {
  if (const std::optional<std::string>& time = inputs.parsed.arguments.launch.max_time) {
    const double own_end = unix_seconds() - seconds + arguments::seconds_of(*time).value();
    end = std::min(end.value_or(own_end), own_end);
  }
  return end;
}

launcher::Limits limits_of(const plan::RunPlan& plan, std::optional<double> end) {
  launcher::Limits limits;
  limits.hang.most_seconds = static_cast<double>(plan.ranks.timeout_seconds);
  limits.hang.alone = plan.ranks.world_size == 1;
  limits.end_time = end;
  return limits;
}

std::map<std::string, std::string> added_variables(const Environment& inherited, const Environment& own) {
  std::map<std::string, std::string> added;
  for (const auto& [name, value] : own.variables()) {
    if (inherited.get(name) != value) added[name] = masked(name, value);
  }
  return added;
}

}  // namespace

std::string worker_program(const std::string& program, const arguments::ParseOutcome& parsed) {
  if (const auto& own = parsed.arguments.launch.worker_program)
    return std::filesystem::absolute(*own).lexically_normal().string();
  return (std::filesystem::path(program).parent_path() / "hftrain-worker").string();
}

launcher::LocalLaunch local_launch(const std::string& program, const Inputs& inputs,
                                   const plan::RunPlan& plan) {
  launcher::LocalLaunch launch;
  launch.worker_program = worker_program(program, inputs.parsed);
  launch.plan_path = run_folder(plan.output_dir).plan();
  launch.environment = inputs.environment;
  launch.full_determinism = plan.full_determinism;
  launch.master_address = "127.0.0.1";
  launch.attempt = next_attempt(run_folder(plan.output_dir, inputs.parsed.arguments.launch.log_dir));
  return launch;
}

std::vector<plan::WorkerCommand> worker_commands(const launcher::LocalLaunch& launch,
                                                 const plan::RunPlan& plan, const Environment& inherited) {
  std::vector<plan::WorkerCommand> commands;
  std::set<int> agents;
  for (const plan::RankPlan& rank : plan.ranks.ranks) agents.insert(rank.agent);
  launcher::LocalLaunch one = launch;
  for (const int agent : agents) {
    one.agent = agent;
    for (const launcher::WorkerSpec& worker : launcher::local_workers(plan.ranks, one)) {
      commands.push_back({worker.rank, worker.argv, added_variables(inherited, worker.environment)});
    }
  }
  return commands;
}

namespace {

struct AttemptOutcome {
  launcher::JobResult result;
  int number = 0;
  double seconds = 0;
  double spawn_seconds = 0;
};

// What it commits goes to `attempts`, also where it ends by an exception.
AttemptOutcome run_attempt(const CommandContext& context, const Inputs& inputs, const plan::RunPlan& plan,
                           const storage::OutputPlace& place, launcher::Rendezvous rendezvous, Job& others,
                           std::optional<double> end, const PatientStream& terminal,
                           reporting::Console& console, HubPusher* pusher, Attempts& attempts) {
  launcher::LocalLaunch launch;
  others.run_in_background([&] {
    launch = local_launch(context.program, inputs, plan);
    launch.attempt = reserve_attempt(run_folder(plan.output_dir, inputs.parsed.arguments.launch.log_dir));
  });
  attempts.begin(launch.attempt);
  launcher::JobSpec job;
  job.rendezvous = std::move(rendezvous);
  launch.master_address = job.rendezvous.address;
  launch.master_port = job.rendezvous.port;
  job.hub = others.hub();
  job.others = others.others(plan, launch.attempt, launch.master_port);
  job.workers = launcher::local_workers(plan.ranks, launch);
  const std::string bound = bind_workers(inputs.parsed, inputs.topology, plan.ranks, job.workers);
  if (!bound.empty()) console.line(bound);
  job.stop_signals = inputs.parsed.arguments.launch.signals_to_handle;
  job.trains = plan.do_train;
  job.output = rank_output(inputs.parsed, plan, 0, launch.attempt);
  job.limits = limits_of(plan, end);
  if (!inputs.parsed.arguments.launch.log_dir) job.logs_in_place = [&place] { return place.in_place(); };

  const double begin = monotonic_seconds();
  const launcher::OutputFilter words = shown_words(inputs.parsed, plan);
  if (!words.shows(0, launcher::Stream::kErr))
    console.line("what rank 0 says of the run is not shown here; it is in " +
                 job.output.log_path(0, launcher::Stream::kErr));
  JobConsole shown(console, terminal, plan, words, begin);
  EventLog kept(run_folder(plan.output_dir).events(), launch.attempt);
  kept.begin(plan.ranks.world_size, plan.saving.resume_from);
  BothObservers told(shown, kept);
  std::optional<BothObservers> pushing;
  if (pusher != nullptr) pushing.emplace(told, *pusher);
  launcher::WorkerObserver& observer = pushing ? static_cast<launcher::WorkerObserver&>(*pushing) : told;
  const auto count_checkpoints = [&] {
    for (const std::string& path : shown.checkpoints()) attempts.committed(path);
  };
  launcher::JobResult result;
  try {
    result = launcher::Supervisor(std::move(job), observer).run();
  } catch (...) {
    count_checkpoints();
    throw;
  }
  count_checkpoints();
  console.clear();
  const double seconds = monotonic_seconds() - begin;
  std::vector<std::string> notices;
  others.beside_the_end([&] { notices = kept.end(result, seconds); });
  for (const std::string& notice : notices) console.line(notice);
  return {std::move(result), launch.attempt, seconds, shown.spawn_seconds()};
}

// A stop signal ends the waiting, and leaves the rest unsent. So did a second one that ended the training.
void finish_pushing(HubPusher& pusher, const launcher::JobResult& result, Job& others,
                    launcher::StopSignals& stops, reporting::Console& console) {
  pusher.end();
  if (result.stop_forced) pusher.leave();
  if (result.code == ExitCode::kDone) {
    pusher.push_output();
  } else {
    others.beside_the_end([&] { pusher.push_left_out(); });
  }
  const double begin = monotonic_seconds();
  bool told = false;
  for (bool over = false; !over;) {
    others.beside_the_end([&] { over = pusher.wait(kSecondsOfAWait); });
    pusher.tell();
    if (stops.next() != 0) pusher.leave();
    if (over || told || monotonic_seconds() - begin < kQuietSecondsOfPushing) continue;
    told = true;
    console.line("waiting for the push to the Hub; Ctrl-C leaves it");
  }
  others.beside_the_end([&] { pusher.note_end(); });
  pusher.tell();
}

// Empty when this attempt ends the batch-size search or is not part of one.
std::optional<int64_t> next_batch(const Inputs& inputs, const plan::RunPlan& plan,
                                  const launcher::JobResult& result) {
  if (!inputs.parsed.arguments.batch.auto_find_batch_size || !trained_out_of_memory(result, plan))
    return std::nullopt;
  return smaller_batch(plan);
}

std::string line_of_search(const launcher::JobResult& result, const plan::RunPlan& plan, int64_t next) {
  const std::string rank = result.failure ? "rank " + std::to_string(result.failure->rank) + ": " : "";
  const std::string what = rank + (result.code == ExitCode::kDeviceMemory ? "the device" : "the host") +
                           " has no memory for micro-batches of " +
                           std::to_string(plan.batch.per_device_train);
  return what + (next == 0 ? ", and no smaller ones are left to try (--auto_find_batch_size)"
                           : ": starting again from the beginning with " + std::to_string(next) +
                                 " (--auto_find_batch_size)");
}

// Whole checkpoints in size: an attempt that ended in the middle of a save would leave less room to each that follows.
std::vector<std::string> discard_unfinished_saves(const std::string& output_dir) {
  storage::PosixFileSystem files;
  return storage::clean_leftovers(files, output_dir);
}

// What the attempts did is moved out of the way, and the plan is made anew.
plan::RunPlan plan_of_search(const PlanMaker& make_plan, const plan::RunPlan& plan, int64_t batch,
                             Attempts& attempts, HubPusher* pusher, std::vector<std::string>& notices) {
  if (pusher != nullptr) pusher->settle();
  const std::string aside = set_aside(attempts.begin_anew(), plan);
  if (!aside.empty()) notices.push_back("the checkpoints of larger micro-batches are in " + aside);
  plan::RunPlan smaller = make_plan(batch, attempts.resume_from());
  smaller.saving.further_nodes = plan.saving.further_nodes;
  return smaller;
}

}  // namespace

ExitCode run_workers(const CommandContext& context, const Inputs& inputs, plan::RunPlan plan,
                     const storage::OutputPlace& place, launcher::Rendezvous rendezvous,
                     const PlanMaker& make_plan, const std::optional<HubTarget>& target, Job& others,
                     Stopwatch& stopwatch, reporting::Console& console) {
  const RunFolder folder = run_folder(plan.output_dir);
  stopwatch.end();
  launcher::StopSignals stops(inputs.parsed.arguments.launch.signals_to_handle);  // also between attempts
  PatientStream terminal(context.err);
  const EndOfTime slurm = end_of_time(inputs.environment, unix_seconds());
  if (!slurm.warning.empty()) console.line(slurm.warning);
  const std::optional<double> end = end_of_run(inputs, slurm.at, stopwatch.total());
  if (end) {
    const bool of_slurm = end == slurm.at;
    console.line((of_slurm ? "SLURM_JOB_END_TIME: " : "--max_time: ") +
                 format_duration(std::max(0.0, *end - unix_seconds())) + " are left; the run stops" +
                 (plan.do_train ? " and saves" : "") + " before they are over");
  }
  std::optional<Attempts> counted;  // it reads the checkpoint that the run begins with
  others.run_in_background(
      [&] { counted.emplace(inputs.parsed.arguments.launch.max_restarts, plan.saving.resume_from); });
  Attempts& attempts = *counted;
  const bool as_it_was = plan.saving.same_run;
  AttemptOutcome outcome;
  std::string last_word;  // for the terminals of the others, where it is not the failure's
  std::optional<HubPusher> pusher;
  if (target) pusher.emplace(*target, inputs.parsed.arguments.hub, plan, console);
  try {
    for (;;) {
      outcome = run_attempt(context, inputs, plan, place, std::move(rendezvous), others, end, terminal,
                            console, pusher ? &*pusher : nullptr, attempts);
      if (outcome.result.stop_asked) terminal.hurry();
      const bool again = attempts.restart_after(outcome.result, outcome.number, outcome.seconds);
      const std::optional<int64_t> batch = next_batch(inputs, plan, outcome.result);
      if (batch) console.line(line_of_search(outcome.result, plan, *batch));
      if (outcome.result.failure && batch.value_or(0) == 0) console.result(outcome.result.failure->render());
      if (!again && batch.value_or(0) == 0) {
        for (const std::string& notice : attempts.notices()) console.line(notice);
        break;
      }
      if (stops.next() != 0)
        throw Error(ExitCode::kTerminatedUnsaved, "stopped before it was started again")
            .where(plan.output_dir)
            .why("it was asked to stop between two attempts")
            .hint("the same command goes on from the newest checkpoint");
      std::vector<std::string> notices;
      others.run_in_background([&] {
        place.check();  // before others of the job read a plan there
        notices = discard_unfinished_saves(plan.output_dir);
        if (batch) {
          plan = plan_of_search(make_plan, plan, *batch, attempts, pusher ? &*pusher : nullptr, notices);
        } else {
          attempts.find_start();
          const std::vector<std::string>& found = attempts.notices();
          notices.insert(notices.end(), found.begin(), found.end());
          plan.saving.resume_from = attempts.resume_from();
          plan.saving.same_run = as_it_was || attempts.goes_on();
          plan.rehearse = false;  // it was
        }
        write_plan(folder, plan);
      });
      for (const std::string& notice : notices) console.line(notice);
      others.share(plan);
      rendezvous = others.bind_store(plan);
    }
  } catch (...) {
    // Of several nodes one that is gone meanwhile, a stop signal, or what a disk, the memory or the system does not give. The
    // run has begun, so it ends as every run does: with its summary, its pushes and a verdict for the others.
    const Error error = error_of(std::current_exception());
    console.clear();
    context.err << error.render() << std::endl;
    attempts.break_off(error);
    outcome.result.code = error.code();
    outcome.result.reason = exit_code_name(error.code());
    last_word = in_a_line(error.diagnostics().front());
    // The ranks of an attempt that has begun elsewhere wait for those that are gone here, and pushes may take long.
    if (others.hub() != nullptr) others.hub()->send_to_all(launcher::EndWorkers{true});
  }

  SummaryFacts facts{outcome.result.code,    outcome.result.reason,       stopwatch.seconds(),
                     stopwatch.total(),      outcome.result.workers,      attempts.record(),
                     attempts.checkpoints(), attempts.inherited_seconds()};
  facts.phases["spawn"] = outcome.spawn_seconds;
  Json summary = make_summary(facts);
  if (!plan.logging.run_name.empty()) summary["run_name"] = plan.logging.run_name;
  others.beside_the_end([&] { write_summary(place, summary); });
  if (pusher) finish_pushing(*pusher, outcome.result, others, stops, console);
  const auto& failure = outcome.result.failure;
  if (last_word.empty() && failure) last_word = in_a_line(failure->summary);
  others.end(outcome.result.code, last_word, summary);
  return outcome.result.code;
}

}  // namespace hftrain::front
