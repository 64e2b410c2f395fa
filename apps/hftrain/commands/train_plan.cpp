#include "commands/train_plan.h"

#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "commands/train_hub.h"
#include "commands/train_job.h"
#include "hftrain/plan/describe.h"
#include "hftrain/storage/run_directory.h"
#include "launcher/front/cpu_binding_stage.h"
#include "launcher/front/data_stage.h"
#include "launcher/front/launch_stage.h"
#include "launcher/front/meeting_stage.h"
#include "launcher/front/output_stage.h"
#include "launcher/front/run_console.h"
#include "launcher/ssh/machine_start.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command
namespace {

// As this program knows it before the meeting; empty: only the meeting tells.
std::string host_of_node_0(const launcher::Membership& membership) {
  const bool named_here = membership.agents > 1 && membership.leads() && !membership.local_address.empty();
  return named_here ? membership.local_address : membership.master_host;
}

launcher::LocalLaunch launch_of_plan(const CommandContext& context, const Inputs& inputs,
                                     const launcher::Membership& membership, const plan::RunPlan& plan,
                                     bool starts_here, reporting::Console& console) {
  launcher::LocalLaunch launch = local_launch(context.program, inputs, plan);
  const std::string host = host_of_node_0(membership);
  if (!host.empty() && plan.ranks.machines > 1) launch.master_address = host;
  if (membership.agents == 1 && plan.ranks.machines == 1 && inputs.parsed.origins.is_given("master_port")) {
    const int port = static_cast<int>(inputs.parsed.arguments.launch.master_port);
    launch.master_port = starts_here ? port_of_plan(port, console) : port;
  }
  return launch;
}

void tell_binding(const Inputs& inputs, const plan::RunPlan& plan, const launcher::LocalLaunch& launch,
                  reporting::Console& console) {
  std::vector<launcher::WorkerSpec> workers = launcher::local_workers(plan.ranks, launch);
  if (inputs.other_machines) return;
  const std::string bound = bind_workers(inputs.parsed, inputs.topology, plan.ranks, workers);
  if (!bound.empty()) console.line(bound);
}

void print_plan(const CommandContext& context, const Inputs& inputs, const plan::RunPlan& plan,
                const launcher::LocalLaunch& launch, const launcher::HostJobSpec* hosts) {
  const auto commands = worker_commands(launch, plan, context.environment);
  if (inputs.parsed.actions.json) {
    Json document = plan::plan_document(plan, inputs.topology, commands);
    if (hosts != nullptr) document["machines"] = machine_list(*hosts);
    context.out << dump_json(document) << '\n';
  } else {
    context.out << plan::describe_plan(plan, inputs.topology, commands);
    if (hosts != nullptr) context.out << describe_machines(*hosts);
  }
}

}  // namespace

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
  const launcher::LocalLaunch launch =
      launch_of_plan(context, inputs, membership, plan, starts_here, console);
  tell_binding(inputs, plan, launch, console);
  print_plan(context, inputs, plan, launch, hosts);
  return ExitCode::kDone;
}

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

}  // namespace hftrain::app
