#include "commands/train_job.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <ostream>

#include "commands/train_run.h"
#include "hftrain/base/caught_error.h"
#include "launcher/control/job_secret.h"
#include "launcher/environments/launcher_tie.h"
#include "launcher/front/follow_stage.h"
#include "launcher/front/job.h"
#include "launcher/front/job_answer.h"
#include "launcher/front/patient_stream.h"
#include "launcher/front/run_console.h"

namespace hftrain::app {

using namespace front;  // NOLINT(google-build-using-namespace): its stages are the command
namespace {

// No rank needs it. Of a machine that could not be gathered only the variable itself is known, and `env:`.
void take_secret(Inputs& inputs, const CommandContext& context) {
  const auto exported = inputs.parsed.exported_environment.find(launcher::kSecretVariable);
  inputs.secret_variable = exported == inputs.parsed.exported_environment.end()
                               ? context.environment.get(launcher::kSecretVariable)
                               : std::optional(exported->second);
  inputs.environment.unset(launcher::kSecretVariable);
}

// With the other front programs of the job, which end with the same code.
ExitCode train_together(const CommandContext& context, Inputs& inputs, Job& job, Stopwatch& stopwatch,
                        reporting::Console& console) {
  try {
    job.check_network();
    return run_job(context, inputs, job, stopwatch, console);
  } catch (...) {
    job.refuse(error_of(std::current_exception()));
    throw;
  }
}

}  // namespace

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

ExitCode lead(const CommandContext& context, Inputs& inputs, const launcher::Membership& membership,
              Stopwatch& stopwatch, reporting::Console& console) {
  const launcher::LauncherTie tie(membership, context.environment);
  try {
    add_model(inputs);
    if (membership.agents > 1) look_at_weights(inputs);
  } catch (...) {
    if (membership.agents == 1) throw;
    return abort_job(context, inputs, membership, error_of(std::current_exception()));
  }
  // While the others are met nothing takes signals but the loop that meets them.
  std::optional<PatientStream> terminal;
  if (membership.agents > 1) terminal.emplace(context.err);
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
    const ExitCode code = error_of(std::current_exception()).code();
    if (terminal && code == ExitCode::kTerminatedUnsaved) terminal->hurry();
    if (!said) throw;
    return code;
  }
}

ExitCode join_job(const CommandContext& context, const arguments::ParseOutcome& parsed,
                  reporting::Console& console) {
  Inputs inputs;
  inputs.parsed = parsed;
  std::optional<Error> failure;
  try {
    inputs = gather_machine(parsed, context.environment);
    add_model(inputs);
    look_at_weights(inputs);
  } catch (...) {
    failure = error_of(std::current_exception());
  }
  const launcher::Membership membership = membership_of(inputs, context);
  const launcher::LauncherTie tie(membership, context.environment);
  return failure ? decline(context, inputs, membership, console, *failure)
                 : follow(context, inputs, membership, console);
}

ExitCode refuse_job(const CommandContext& context, const arguments::ParseOutcome& read, const Error& error) {
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

}  // namespace hftrain::app
