#include "launcher/front/job_answer.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "hftrain/arguments/print_config.h"
#include "hftrain/base/error.h"
#include "launcher/environments/find_membership.h"
#include "launcher/environments/first_process.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

bool answers_for_job(const arguments::ParseOutcome& parsed, const Environment& environment) {
  try {
    const launcher::Membership membership =
        launcher::find_membership(parsed.arguments.launch, environment, 0, parsed.origins);
    return membership.leads() || membership.variables.empty();
  } catch (const Error&) {
    return true;  // a configuration that cannot run is answered, too
  }
}

ExitCode refuse_once(const Error& error, const CommandContext& context) {
  // By the word alone: what has a mistake in it may not have been understood.
  const bool alone = std::ranges::find(context.arguments, "--standalone") != context.arguments.end();
  if (alone || launcher::speaks_first(context.environment)) throw Error(error);
  constexpr std::chrono::seconds kPatience{1};  // many times what reading a command line takes
  if (!launcher::first_process_says_otherwise(context.environment, kPatience)) return error.code();
  throw Error(error).context("reading what " + launcher::place_in_job(context.environment) + ", was given");
}

ExitCode answer_print_config(const arguments::ParseOutcome& parsed, const CommandContext& context) {
  try {
    require_task(parsed);
  } catch (const Error& error) {
    return refuse_once(error, context);
  }
  if (answers_for_job(parsed, context.environment))
    context.out << arguments::print_config(parsed, *parsed.actions.print_config);
  else
    context.err << "note: the first process of this job prints the configuration\n";
  return ExitCode::kDone;
}

}  // namespace hftrain::front
