// Last stage: starts the workers of a written plan, shows the run, and keeps its summary.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "hftrain/plan/describe.h"
#include "hftrain/plan/run_plan.h"
#include "hftrain/reporting/console.h"
#include "hftrain/storage/output_place.h"
#include "launcher/environments/local.h"
#include "launcher/front/command_context.h"
#include "launcher/front/hub_target.h"
#include "launcher/front/inputs.h"
#include "launcher/front/job.h"
#include "launcher/front/stopwatch.h"
#include "launcher/supervision/rendezvous.h"

namespace hftrain::front {

// What a rank is started with: --worker_program, or hftrain-worker beside `program`, which is this executable.
std::string worker_program(const std::string& program, const arguments::ParseOutcome& parsed);

// How the workers of `plan` are started.
launcher::LocalLaunch local_launch(const std::string& program, const Inputs& inputs,
                                   const plan::RunPlan& plan);

// The same for people, with the variables that differ from `inherited`, this process's; in a dry run the port
// is not known and shown as 0.
std::vector<plan::WorkerCommand> worker_commands(const launcher::LocalLaunch& launch,
                                                 const plan::RunPlan& plan, const Environment& inherited);

// The plan of this run with another micro-batch, from a checkpoint or (empty) from the beginning.
using PlanMaker = std::function<plan::RunPlan(int64_t batch, const std::string& resume_from)>;

// Returns the job's exit code once every worker is gone and no attempt is left or worth it, or one cannot be started. The
// report of a failure goes to the console. `rendezvous`: of the first attempt; later ones get their own. With `target` what
// the run saves is pushed there, and the last push waited for. `place`: of the output folder.
ExitCode run_workers(const CommandContext& context, const Inputs& inputs, plan::RunPlan plan,
                     const storage::OutputPlace& place, launcher::Rendezvous rendezvous,
                     const PlanMaker& make_plan, const std::optional<HubTarget>& target, Job& job,
                     Stopwatch& stopwatch, reporting::Console& console);

}  // namespace hftrain::front
