// hftrain [train] [--config FILE] [FLAGS] and hftrain plan …: from the command line to who trains or shows the plan.
#include <signal.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "commands/train_job.h"
#include "commands/train_plan.h"
#include "hftrain/arguments/help.h"
#include "hftrain/arguments/import/visible_gpus.h"
#include "hftrain/arguments/other_machines.h"
#include "hftrain/base/caught_error.h"
#include "hftrain/base/error.h"
#include "hftrain/base/text.h"
#include "hftrain/plan/gpu_models.h"
#include "launcher/environments/find_membership.h"
#include "launcher/front/cpu_binding_stage.h"
#include "launcher/front/host_stage.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job_answer.h"
#include "launcher/front/meeting_stage.h"
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

void check_json(const arguments::Actions& asked) {
  if (!asked.json || asked.dry_run) return;
  throw Error(ExitCode::kUsage, "--json is for plans")
      .where("--json")
      .why("a run writes what it did into OUTPUT_DIR/hftrain/summary.json and log.jsonl")
      .hint("hftrain plan --json …");
}

ExitCode start_hosts(const CommandContext& context, const arguments::ParseOutcome& parsed,
                     reporting::Console& console) {
  const bool dry_run = parsed.actions.dry_run;
  if (!dry_run) console.line("hftrain " HFTRAIN_VERSION);
  show(parsed.notes, console);
  launcher::HostJobSpec hosts = host_job(context, context.arguments, parsed, console);
  return dry_run ? show_plan_of_hosts(context, parsed.actions, hosts, console)
                 : run_on_hosts(context, std::move(hosts), console);
}

// As the first front program of the job; `inputs` are of this machine, without a model.
ExitCode lead_or_show(const CommandContext& context, Inputs inputs, Stopwatch& stopwatch,
                      reporting::Console& console) {
  const launcher::Membership membership = membership_of(inputs, context);
  if (const std::string where = launcher::describe(membership); !where.empty()) console.line(where);
  for (const std::string& notice : membership.notices) show_notice(notice, console);
  if (!inputs.parsed.actions.dry_run) return lead(context, inputs, membership, stopwatch, console);
  add_model(inputs);
  inputs.agents = assumed_agents(context, inputs, membership);
  return show_plan(context, inputs, membership, nullptr, console);
}

// On this machine.
ExitCode take_part(const CommandContext& context, arguments::ParseOutcome parsed, Stopwatch& stopwatch,
                   reporting::Console& console) {
  const bool dry_run = parsed.actions.dry_run;
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
    return refuse_job(context, parsed, error_of(std::current_exception()));
  }
  return lead_or_show(context, std::move(inputs), stopwatch, console);
}

ExitCode start(const CommandContext& context, arguments::ParseOutcome parsed, Stopwatch& stopwatch) {
  // A terminal or a log collector that is gone costs its text, not the run.
  if (!parsed.actions.dry_run) ::signal(SIGPIPE, SIG_IGN);
  const LeaveOnStop until_started;
  reporting::Console console(context.err, console_style(parsed.arguments, context));
  if (arguments::other_machines(parsed)) return show_plan_of_machines(context, std::move(parsed), console);
  if (launcher::starts_hosts(parsed.arguments.launch, parsed.origins, context.environment))
    return start_hosts(context, parsed, console);
  if (launcher::counts_hosts(parsed.arguments.launch, parsed.origins)) {
    try {
      const std::optional<std::string> slots = launcher::take_from_hosts(
          launcher::read_hosts(parsed.arguments.launch), parsed.arguments.launch, parsed.origins);
      arguments::take_slots(slots, context.environment, parsed);
    } catch (const Error& error) {
      return refuse_job(context, parsed, error);
    }
  }
  return take_part(context, std::move(parsed), stopwatch, console);
}

ExitCode run(const CommandContext& context, std::vector<std::string> arguments, HelpText help) {
  Stopwatch stopwatch;
  stopwatch.begin("parse");
  arguments::ParseOutcome parsed;
  try {
    parsed = arguments::parse_arguments(arguments, context.environment);
  } catch (const arguments::InvalidArguments& invalid) {
    if (arguments::other_machines(invalid.read())) throw;
    return refuse_job(context, invalid.read(), invalid);
  }
  if (const std::optional<ExitCode> answered = answer_question(parsed, context, help)) return *answered;
  check_json(parsed.actions);
  const bool dry_run = parsed.actions.dry_run;
  if (!dry_run) arguments::require_this_machine(parsed);
  if (parsed.arguments.interface.smoke && !dry_run) return run_smoke(context, arguments, parsed);
  if (parsed.arguments.interface.smoke && !arguments::other_machines(parsed)) {
    return plan_smoke(context, arguments, parsed,
                      [help](const CommandContext& there, std::vector<std::string> line) {
                        return run(there, std::move(line), help);
                      });
  }
  return start(context, std::move(parsed), stopwatch);
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
