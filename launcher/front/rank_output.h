// What becomes of the output of the ranks that a front program starts, from the flags --log_dir, --log_ranks,
// --tee,
// --redirects, --local_ranks_filter and --duplicate_{stdout,stderr}_filters.
#pragma once

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/run_plan.h"
#include "launcher/process/output_router.h"

namespace hftrain::front {

// Of the ranks of agent number `agent` of the job, in attempt number `attempt`. The plan must outlive what is returned.
launcher::OutputSpec rank_output(const arguments::ParseOutcome& parsed, const plan::RunPlan& plan, int agent,
                                 int attempt);

}  // namespace hftrain::front
