// A front program that follows another: meets agent 0 of its job, gets ready what the plan needs on this
// machine, starts its ranks when told, and ends with the code of the job.
#pragma once

#include "hftrain/base/error.h"
#include "hftrain/reporting/console.h"
#include "launcher/environments/membership.h"
#include "launcher/front/command_context.h"
#include "launcher/front/inputs.h"

namespace hftrain::front {

// Says at most a line or two on the console: the run's own output and report are agent 0's. Throws an Error
// when agent 0 cannot be reached.
ExitCode follow(const CommandContext& context, const Inputs& inputs, const launcher::Membership& membership,
                reporting::Console& console);

// Of one that cannot take part: says why, tells agent 0, should that be reached within seconds, and ends with
// the code of `failure`. All others then end for this reason, instead of missing this node.
ExitCode decline(const CommandContext& context, const Inputs& inputs, const launcher::Membership& membership,
                 reporting::Console& console, const Error& failure);

}  // namespace hftrain::front
