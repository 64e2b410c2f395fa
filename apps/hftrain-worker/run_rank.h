// The life of one rank: plan, device, process group, training, and the last word on the control descriptor.
#pragma once

#include "hftrain/base/exit_code.h"
#include "hftrain/base/status_page.h"
#include "options.h"

namespace hftrain::worker {

// Failures are reported as a kFailed event and then thrown. What the rank does is told on `status`.
ExitCode run_rank(const Options& options, StatusPage& status);

}  // namespace hftrain::worker
