// hftrain [train] [--config FILE] [FLAGS] and hftrain plan …: from the command line to an exit code, stage by
// stage.
#include <signal.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <vector>

#include "command.h"
#include "hftrain/arguments/help.h"
#include "hftrain/arguments/import/visible_gpus.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/base/caught_error.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/describe.h"
#include "hftrain/plan/gpu_models.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/control/job_secret.h"
#include "launcher/environments/find_membership.h"
#include "launcher/environments/launcher_tie.h"
#include "launcher/front/cpu_binding_stage.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/follow_stage.h"
#include "launcher/front/host_stage.h"
#include "launcher/front/hub_target.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job.h"
#include "launcher/front/job_answer.h"
#include "launcher/front/launch_stage.h"
#include "launcher/front/meeting_stage.h"
#include "launcher/front/output_stage.h"
#include "launcher/front/run_console.h"
#include "launcher/front/run_record.h"
#include "launcher/front/smoke.h"
#include "launcher/front/stop_flag.h"
#include "launcher/front/stopwatch.h"
#include "launcher/ssh/machine_start.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command
namespace {

using HelpText = void (*)(const CommandContext&, bool all);

void print_help(const CommandContext& context, bool all) {
  context.out
      << "hftrain " << HFTRAIN_VERSION << ": trains Hugging Face models from the shell, without Python\n\n"
      << "usage: hftrain [train] [--config FILE] [FLAGS]\n"
      << "       hftrain COMMAND [--help]\n\n"
      << "  hftrain --config run.yaml                          train as the file says\n"
      << "  hftrain --config run.yaml --learning_rate 1e-4     flags win over files\n"
      << "  hftrain plan --config run.yaml                     what would happen, without doing it\n\n"
      << "commands:\n";
  for (const Command& command : commands()) {
    context.out
        << "  "
        << std::string(command.name).append(12 - std::min<size_t>(11, std::string(command.name).size()), ' ')
        << command.summary << '\n';
  }
  context.out << '\n' << arguments::help_text(all);
}

void print_plan_help(const CommandContext& context, bool all) {
  context.out
      << "usage: hftrain plan [--config FILE] [FLAGS] [--json]\n"
         "Resolves and prints what `hftrain` with the same flags would do, without doing it: ranks, devices, "
         "strategy,\nbatches, steps, memory, files and workers; ends as the run would.\n\n"
      << arguments::help_text(all);
}

// What the command line asked for instead of a run, if it did; answered.
std::optional<ExitCode> answer_question(const arguments::ParseOutcome& parsed, const CommandContext& context,
                                        HelpText help) {
  const arguments::Actions& asked = parsed.actions;
  if (asked.help || asked.help_all) {
    help(context, asked.help_all);
  } else if (asked.version) {
    context.out << "hftrain " << HFTRAIN_VERSION << '\n';
  } else if (arguments::other_machines(parsed) == "list") {
    context.out << (asked.json ? dump_json(plan::gpu_models_document()) + '\n' : plan::describe_gpu_models());
  } else if (asked.print_config) {
    return answer_print_config(parsed, context);
  } else {
    return std::nullopt;
  }
  return ExitCode::kDone;
}

// Where the run pushes to, as its arguments and this machine say it; the Hub itself is not asked.
std::optional<HubTarget> named_target(const Inputs& inputs, bool trains, bool pushes_here,
                                      reporting::Console& console) {
  std::optional<HubTarget> target = hub_target(inputs, pushes_here);
  if (!target || trains) return target;
  console.message(LogLevel::kWarning,
                  "nothing is pushed to the Hub: without training there is no model to push");
  return std::nullopt;
}

// As this program knows it before the meeting; empty: only the meeting tells.
std::string host_of_node_0(const launcher::Membership& membership) {
  const bool named_here = membership.agents > 1 && membership.leads() && !membership.local_address.empty();
  return named_here ? membership.local_address : membership.master_host;
}

// `hosts`: of a job that a host file starts, else null.
ExitCode show_plan(const CommandContext& context, const Inputs& inputs,
                   const launcher::Membership& membership, const launcher::HostJobSpec* hosts,
                   reporting::Console& console) {
  inputs.other_machines ? storage::check_not_in_use(inputs.output_dir)
                        : storage::check_can_take(inputs.output_dir);
  const plan::DataFacts data = estimate_data(prepare_request(inputs));
  plan::RunPlan plan = resolve_plan(inputs, data, "");
  // A token, or a secret's file, of another machine is not looked for on this one.
  const bool starts_here = !inputs.other_machines && (hosts == nullptr || hosts->here.front());
  if (starts_here) {
    check_secret(inputs, membership);
    check_local_address(membership);
    check_meeting_port(inputs, membership);
  }
  if (membership.leads()) named_target(inputs, plan.do_train, starts_here, console);
  const ResumeDecision decision = decide_resume(inputs, plan);
  if (!decision.from.empty()) plan = resolve_plan(inputs, data, decision.from);
  for (const std::string& notice : decision.notices) console.line(notice);
  show(notes_of_plan(inputs, plan), console);
  launcher::LocalLaunch launch = local_launch(context.program, inputs, plan);
  const std::string host = host_of_node_0(membership);
  if (!host.empty() && plan.ranks.machines > 1) launch.master_address = host;
  if (membership.agents == 1 && plan.ranks.machines == 1 && inputs.parsed.origins.is_given("master_port")) {
    const int port = static_cast<int>(inputs.parsed.arguments.launch.master_port);
    launch.master_port = starts_here ? port_of_plan(port, console) : port;
  }
  std::vector<launcher::WorkerSpec> workers = launcher::local_workers(plan.ranks, launch);
  if (!inputs.other_machines) {
    const std::string bound = bind_workers(inputs.parsed, inputs.topology, plan.ranks, workers);
    if (!bound.empty()) console.line(bound);
  }
  const auto commands = worker_commands(launch, plan, context.environment);
  if (inputs.parsed.actions.json) {
    Json document = plan::plan_document(plan, inputs.topology, commands);
    if (hosts != nullptr) document["machines"] = machine_list(*hosts);
    context.out << dump_json(document) << '\n';
  } else {
    context.out << plan::describe_plan(plan, inputs.topology, commands);
    if (hosts != nullptr) context.out << describe_machines(*hosts);
  }
  return ExitCode::kDone;
}

void take_folder(std::optional<OutputFolder>& output, const Inputs& inputs, Job& job,
                 reporting::Console& console) {
  job.run_in_background(
      [&] { output.emplace(inputs, [&console](const std::string& line) { console.line(line); }); });
  for (const std::string& line : output->cleared()) console.line(line);
}

// Whether the run may push is known before it begins; whether the Hub can be reached may change until it ends.
std::optional<HubTarget> look_for_hub(const Inputs& inputs, bool trains, Job& job,
                                      reporting::Console& console) {
  std::optional<HubTarget> target = named_target(inputs, trains, true, console);
  if (!target) return std::nullopt;
  job.run_in_background([&] { try_repository(*target); });
  if (target->trouble.empty()) {
    console.line("pushes go to " + target->repository);
    if (!target->remark.empty()) console.message(LogLevel::kWarning, target->remark);
  } else {
    console.message(LogLevel::kWarning,
                    target->trouble + "; the run trains, and tries to push what it saves (--push_to_hub)");
  }
  return target;
}

// From the first change of the output folder to the last thing before ranks run: where they meet, which is bound while an old
// run can still come back. Who is alone leaves at once on a stop signal, which is no time to move it back: `stop` is there for
// it from then on, and until that is done.
launcher::Rendezvous begin_run(const CommandContext& context, const Inputs& inputs,
                               const data::PreparedData& prepared, OutputFolder& output, plan::RunPlan& plan,
                               Job& job, std::optional<StopFlag>& stop, reporting::Console& console) {
  if (job.alone()) stop.emplace();
  const RunFolder folder = run_folder(inputs.output_dir);
  std::vector<std::string> moved;
  job.run_in_background([&] { moved = output.begin(paths_of(prepared)); });
  for (const std::string& line : moved) console.line(line);
  job.run_in_background([&] { write_arguments(folder, inputs, context, plan.ranks.backend); });
  job.look_for_output_folder(plan);
  job.run_in_background([&] { write_plan(folder, plan); });
  job.share(plan);
  launcher::Rendezvous rendezvous = job.bind_store(plan);
  if (stop && stop->is_set())
    throw Error(ExitCode::kTerminatedUnsaved, "stopped before the run began")
        .where(inputs.output_dir)
        .why("a stop signal came while its folder was made ready")
        .hint("the same command starts it");
  output.keep();
  stop.reset();
  return rendezvous;
}

ExitCode train(const CommandContext& context, const Inputs& inputs, Job& job, Stopwatch& stopwatch,
               reporting::Console& console) {
  job.run_in_background([&] { storage::check_can_take(inputs.output_dir); });
  const data::PrepareRequest request = prepare_request(inputs);
  plan::DataFacts estimate;
  job.run_in_background(
      [&] { estimate = estimate_data(request); });  // reads all files, unless they were seen before
  // Whatever cannot work is refused before anything is written. The file system of the output folder is asked, and a
  // checkpoint read, beside the loop that the others hear: either may hang.
  plan::RunPlan plan;
  job.run_in_background([&] { plan = resolve_plan(inputs, estimate, ""); });
  const std::optional<HubTarget> target = look_for_hub(inputs, plan.do_train, job, console);
  std::optional<StopFlag> stop;  // goes behind the folder, which moves an old run back
  std::optional<OutputFolder> output;
  take_folder(output, inputs, job, console);
  ResumeDecision decision;
  job.run_in_background([&] { decision = decide_resume(inputs, plan); });

  stopwatch.begin("prepare");
  const auto prepared = job.prepare(request);
  if (!prepared) {
    console.line("stopped while preparing data; nothing was trained");
    return ExitCode::kTerminatedUnsaved;
  }
  stopwatch.begin("plan");
  std::vector<Diagnostic> notes;
  job.run_in_background([&] {
    plan = resolve_plan(inputs, facts_of(*prepared), "");
    check_same_data(inputs, plan, decision);
    if (!decision.from.empty()) plan = resolve_plan(inputs, facts_of(*prepared), decision.from);
    notes = notes_of_plan(inputs, plan);
  });
  for (const std::string& notice : decision.notices) console.line(notice);
  show(notes, console);
  launcher::Rendezvous rendezvous = begin_run(context, inputs, *prepared, *output, plan, job, stop, console);
  const PlanMaker make_plan = [&](int64_t batch, const std::string& resume_from) {
    return resolve_plan(inputs, facts_of(*prepared), resume_from, batch);
  };
  return run_workers(context, inputs, plan, output->place().value(), std::move(rendezvous), make_plan, target,
                     job, stopwatch, console);
}

// No rank needs it. Of a machine that could not be gathered only the variable itself is known, and `env:`.
void take_secret(Inputs& inputs, const CommandContext& context) {
  const auto exported = inputs.parsed.exported_environment.find(launcher::kSecretVariable);
  inputs.secret_variable = exported == inputs.parsed.exported_environment.end()
                               ? context.environment.get(launcher::kSecretVariable)
                               : std::optional(exported->second);
  inputs.environment.unset(launcher::kSecretVariable);
}

launcher::Membership membership_of(Inputs& inputs, const CommandContext& context) {
  const arguments::Arguments& arguments = inputs.parsed.arguments;
  const size_t gpus = arguments.device.use_cpu ? 0 : inputs.topology.visible.devices.size();
  launcher::Membership membership = launcher::find_membership(arguments.launch, context.environment,
                                                              static_cast<int>(gpus), inputs.parsed.origins);
  // The worker speaks PMIx again where mpirun started this program; with the default storage that fails.
  if (membership.meeting == launcher::Meeting::kPmix) inputs.environment.set("PMIX_MCA_gds", "hash");
  take_secret(inputs, context);
  return membership;
}

// With the other front programs of the job, which end with the same code.
ExitCode train_together(const CommandContext& context, Inputs& inputs, Job& job, Stopwatch& stopwatch,
                        reporting::Console& console) {
  try {
    job.check_network();
    return train(context, inputs, job, stopwatch, console);
  } catch (...) {
    job.refuse(error_of(std::current_exception()));
    throw;
  }
}

// As train(), as the first front program of the job.
ExitCode lead(const CommandContext& context, Inputs& inputs, const launcher::Membership& membership,
              Stopwatch& stopwatch, reporting::Console& console) {
  const launcher::LauncherTie tie(membership, context.environment);
  try {
    add_model(inputs);
  } catch (...) {
    if (membership.agents == 1) throw;
    return abort_job(context, inputs, membership, error_of(std::current_exception()));
  }
  bool said = false;
  const auto say = [&context, &console, &said](const Error& error) {
    console.clear();
    context.err << error.render() << std::endl;
    said = true;
  };
  try {
    Job job(context, inputs, membership, console, say);
    return train_together(context, inputs, job, stopwatch, console);
  } catch (...) {
    if (!said) throw;
    return error_of(std::current_exception()).code();
  }
}

// A front program that follows another.
ExitCode join_job(const CommandContext& context, const arguments::ParseOutcome& parsed,
                  reporting::Console& console) {
  Inputs inputs;
  inputs.parsed = parsed;
  std::optional<Error> failure;
  try {
    inputs = gather_machine(parsed, context.environment);
    add_model(inputs);
  } catch (...) {
    failure = error_of(std::current_exception());
  }
  const launcher::Membership membership = membership_of(inputs, context);
  const launcher::LauncherTie tie(membership, context.environment);
  return failure ? decline(context, inputs, membership, console, *failure)
                 : follow(context, inputs, membership, console);
}

// Of arguments of which `read` could be read, or of a machine that cannot be looked at. The other front programs of the job hear of
// it too, when the arguments say where they are. mpirun and torchrun see the exit code, and to meet through them may take long.
ExitCode refuse(const CommandContext& context, const arguments::ParseOutcome& read, const Error& error) {
  Inputs inputs;
  inputs.parsed = read;
  inputs.environment = context.environment;
  launcher::Membership membership;
  try {
    membership = membership_of(inputs, context);
  } catch (const Error&) {
    throw Error(error);  // the membership is among the mistakes
  }
  const arguments::Actions& asked = inputs.parsed.actions;
  if (asked.dry_run || asked.print_config || membership.meeting != launcher::Meeting::kFixedAddress)
    return refuse_once(error, context);
  reporting::Console console(context.err, console_style(inputs.parsed.arguments, context));
  return membership.leads() ? abort_job(context, inputs, membership, error)
                            : decline(context, inputs, membership, console, error);
}

// The plan of a job that a host file starts is that of its first machine; all are taken to be like this one.
ExitCode show_plan_of_hosts(const CommandContext& context, const arguments::Actions& asked,
                            const launcher::HostJobSpec& hosts, reporting::Console& console) {
  const launcher::MachineStart& first = hosts.machines.front();
  CommandContext there = context;
  for (const auto& [name, value] : first.environment) there.environment.set(name, value);
  arguments::ParseOutcome parsed = arguments::parse_arguments(first.arguments, there.environment);
  parsed.actions = asked;
  Inputs inputs = gather_inputs(std::move(parsed), there.environment);
  const launcher::Membership membership = membership_of(inputs, there);
  inputs.agents = assumed_agents(there, inputs, membership);
  for (plan::AgentFacts& agent : inputs.agents) {
    const launcher::MachineStart& machine = hosts.machines[static_cast<size_t>(agent.agent)];
    agent.host = machine.host;
    agent.nproc_per_node = launcher::ranks_of(machine);
  }
  return show_plan(context, inputs, membership, &hosts, console);
}

// Nothing of this machine is asked, neither what it has nor who started this program on it.
ExitCode show_plan_of_machines(const CommandContext& context, arguments::ParseOutcome parsed,
                               reporting::Console& console) {
  show(parsed.notes, console);
  const Inputs inputs = gather_inputs(std::move(parsed), context.environment);
  launcher::Membership membership;
  const arguments::LaunchArguments& launch = inputs.parsed.arguments.launch;
  if (inputs.agents.size() > 1)
    membership.master_host =
        inputs.parsed.origins.is_default("master_addr") ? "MACHINE-0" : launch.master_addr;
  if (launch.local_addr)
    console.message(LogLevel::kInfo, "--local_addr " + *launch.local_addr +
                                         " is not looked at: it is of the machine that it is given on, and "
                                         "the plan is for others (--machines)");
  return show_plan(context, inputs, membership, nullptr, console);
}

// The plan of a process that one launcher has started beside the first, which shows it. Another machine may lack what that
// one has: its first process says what would end the run there. Those beside one that speaks would say the same, read all
// data once more, and mpirun ends all at the first that fails, perhaps before it has spoken.
ExitCode plan_unseen(const CommandContext& context, arguments::ParseOutcome parsed) {
  if (!launcher::speaks_first(context.environment)) return ExitCode::kDone;
  std::ostream nowhere(nullptr);
  const CommandContext unseen{.arguments = context.arguments,
                              .environment = context.environment,
                              .program = context.program,
                              .out = nowhere,
                              .err = nowhere};
  reporting::Console console(nowhere, console_style(parsed.arguments, unseen));
  Inputs inputs = gather_machine(std::move(parsed), unseen.environment);
  const launcher::Membership membership = membership_of(inputs, unseen);
  add_model(inputs);
  inputs.agents = assumed_agents(unseen, inputs, membership);
  return show_plan(unseen, inputs, membership, nullptr, console);
}

ExitCode run(const CommandContext& context, std::vector<std::string> arguments, HelpText help) {
  Stopwatch stopwatch;
  stopwatch.begin("parse");
  arguments::ParseOutcome parsed;
  try {
    parsed = arguments::parse_arguments(arguments, context.environment);
  } catch (const arguments::InvalidArguments& invalid) {
    if (arguments::other_machines(invalid.read())) throw;
    return refuse(context, invalid.read(), invalid);
  }
  if (const std::optional<ExitCode> answered = answer_question(parsed, context, help)) return *answered;
  if (parsed.actions.json && !parsed.actions.dry_run) {
    throw Error(ExitCode::kUsage, "--json is for plans")
        .where("--json")
        .why("a run writes what it did into OUTPUT_DIR/hftrain/summary.json and log.jsonl")
        .hint("hftrain plan --json …");
  }
  const bool dry_run = parsed.actions.dry_run;
  if (!dry_run) arguments::require_this_machine(parsed);
  if (parsed.arguments.interface.smoke && !dry_run) return run_smoke(context, arguments, parsed);
  if (parsed.arguments.interface.smoke && !arguments::other_machines(parsed)) {
    return plan_smoke(context, arguments, parsed,
                      [help](const CommandContext& there, std::vector<std::string> line) {
                        return run(there, std::move(line), help);
                      });
  }
  // A terminal or a log collector that is gone costs its text, not the run.
  if (!dry_run) ::signal(SIGPIPE, SIG_IGN);
  const LeaveOnStop until_started;
  reporting::Console console(context.err, console_style(parsed.arguments, context));
  if (arguments::other_machines(parsed)) return show_plan_of_machines(context, std::move(parsed), console);
  if (launcher::starts_hosts(parsed.arguments.launch, parsed.origins, context.environment)) {
    if (!dry_run) console.line("hftrain " HFTRAIN_VERSION);
    show(parsed.notes, console);
    launcher::HostJobSpec hosts = host_job(context, context.arguments, parsed, console);
    return dry_run ? show_plan_of_hosts(context, parsed.actions, hosts, console)
                   : run_on_hosts(context, std::move(hosts), console);
  }
  if (launcher::counts_hosts(parsed.arguments.launch, parsed.origins)) {
    try {
      const std::optional<std::string> slots = launcher::take_from_hosts(
          launcher::read_hosts(parsed.arguments.launch), parsed.arguments.launch, parsed.origins);
      arguments::take_slots(slots, context.environment, parsed);
    } catch (const Error& error) {
      return refuse(context, parsed, error);
    }
  }
  const launcher::Membership membership_by_name =
      launcher::find_membership(parsed.arguments.launch, context.environment, 0, parsed.origins);
  // A follower shows nothing but what goes wrong. A plan is shown wherever it was asked for, but once for all
  // that one launcher has started.
  const bool follows = !membership_by_name.leads() && !(dry_run && membership_by_name.variables.empty());
  if (!dry_run && !follows) console.line("hftrain " HFTRAIN_VERSION);
  if (!follows) show(parsed.notes, console);
  confine_to_cores(parsed);
  stopwatch.begin("plan");
  if (follows) return dry_run ? plan_unseen(context, std::move(parsed)) : join_job(context, parsed, console);
  Inputs inputs;
  try {
    inputs = gather_machine(parsed, context.environment);
  } catch (...) {
    return refuse(context, parsed, error_of(std::current_exception()));
  }
  const launcher::Membership membership = membership_of(inputs, context);
  if (const std::string where = launcher::describe(membership); !where.empty()) console.line(where);
  for (const std::string& notice : membership.notices) show_notice(notice, console);
  if (!dry_run) return lead(context, inputs, membership, stopwatch, console);
  add_model(inputs);
  inputs.agents = assumed_agents(context, inputs, membership);
  return show_plan(context, inputs, membership, nullptr, console);
}

}  // namespace

ExitCode run_train(const CommandContext& context) {
  return run(context, context.arguments, print_help);
}

ExitCode run_plan(const CommandContext& context) {
  std::vector<std::string> arguments = context.arguments;
  arguments.insert(arguments.begin(), "--dry_run=true");  // not its value: what the user's first word is
  return run(context, std::move(arguments), print_plan_help);
}

}  // namespace hftrain::app
