// A front program that follows another: meets agent 0 of its job, gets ready what the plan needs on this
// machine, starts its ranks when told, and ends with the code of the job.
#pragma once

#include <optional>

#include "command.h"
#include "hftrain/base/error.h"
#include "hftrain/reporting/console.h"
#include "launcher/environments/job_place.h"
#include "pipeline/inputs.h"

namespace hftrain::app {

// Says at most a line or two on the console: the run's own output and report are agent 0's. Throws an Error
// when agent 0 cannot be reached. `failure`: why this one cannot take part; it goes there only to say so.
ExitCode follow(const CommandContext& context, const Inputs& inputs, const launcher::JobPlace& place,
                reporting::Console& console, const std::optional<Error>& failure);

}  // namespace hftrain::app
