// One job's training: data, folder, plan and ranks.
#pragma once

#include "command.h"
#include "hftrain/base/exit_code.h"
#include "hftrain/reporting/console.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job.h"
#include "launcher/front/stopwatch.h"

namespace hftrain::app {

// As the first front program of `job`. Throws what ends the run before its ranks do.
ExitCode run_job(const CommandContext& context, const front::Inputs& inputs, front::Job& job,
                 front::Stopwatch& stopwatch, reporting::Console& console);

}  // namespace hftrain::app
