// The part that this front program has in its job: alone, first of several, or behind another one.
#pragma once

#include "command.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/error.h"
#include "hftrain/base/exit_code.h"
#include "hftrain/reporting/console.h"
#include "launcher/environments/find_membership.h"
#include "launcher/front/inputs.h"
#include "launcher/front/stopwatch.h"

namespace hftrain::app {

// Takes the job's secret out of the environment of ranks on the way.
launcher::Membership membership_of(front::Inputs& inputs, const CommandContext& context);
// Trains, as the first front program of the job.
ExitCode lead(const CommandContext& context, front::Inputs& inputs, const launcher::Membership& membership,
              front::Stopwatch& stopwatch, reporting::Console& console);
// Trains, as a front program that follows another.
ExitCode join_job(const CommandContext& context, const arguments::ParseOutcome& parsed,
                  reporting::Console& console);
// Of arguments of which `read` could be read, or of a machine that cannot be looked at. The other front programs of the job hear of
// it too, when the arguments say where they are. mpirun and torchrun see the exit code, and to meet through them may take long.
ExitCode refuse_job(const CommandContext& context, const arguments::ParseOutcome& read, const Error& error);

}  // namespace hftrain::app
