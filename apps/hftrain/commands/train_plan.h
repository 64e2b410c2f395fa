// What `hftrain plan` shows: of this machine, of a host file's, of machines that are only named.
#pragma once

#include "command.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/base/exit_code.h"
#include "hftrain/reporting/console.h"
#include "launcher/environments/find_membership.h"
#include "launcher/front/host_stage.h"
#include "launcher/front/inputs.h"

namespace hftrain::app {

// `hosts`: of a job that a host file starts, else null.
ExitCode show_plan(const CommandContext& context, const front::Inputs& inputs,
                   const launcher::Membership& membership, const launcher::HostJobSpec* hosts,
                   reporting::Console& console);
// The plan of a job that a host file starts is that of its first machine; all are taken to be like this one.
ExitCode show_plan_of_hosts(const CommandContext& context, const arguments::Actions& asked,
                            const launcher::HostJobSpec& hosts, reporting::Console& console);
// Nothing of this machine is asked, neither what it has nor who started this program on it.
ExitCode show_plan_of_machines(const CommandContext& context, arguments::ParseOutcome parsed,
                               reporting::Console& console);
// The plan of a process that one launcher has started beside the first, which shows it. Another machine may lack what that
// one has: its first process says what would end the run there. Those beside one that speaks would say the same, read all
// data once more, and mpirun ends all at the first that fails, perhaps before it has spoken.
ExitCode plan_unseen(const CommandContext& context, arguments::ParseOutcome parsed);

}  // namespace hftrain::app
