// `--smoke`: proves in about a minute that a configuration works on this machine. Trains with the given flags
// for a few steps, on made-up data and a small model where none is named; kills a rank once and resumes;
// compares with a run that was left alone; verifies the checkpoint. Nothing is read from what the runs print,
// which the configuration may silence: files tell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hftrain/arguments/parse.h"
#include "launcher/front/command_context.h"

namespace hftrain::front {

// `flags` are the command line, `parsed` is what it means. Prints one line per check to context.out.
// Returns 0, or the code of the first check that failed; its files are then kept and named.
ExitCode run_smoke(const CommandContext& context, const std::vector<std::string>& flags,
                   const arguments::ParseOutcome& parsed);

// The plan of such a run, by `plan_of` (a plan of its command line); made data are removed again.
using PlanOf = std::function<ExitCode(const CommandContext&, std::vector<std::string>)>;
ExitCode plan_smoke(const CommandContext& context, const std::vector<std::string>& flags,
                    const arguments::ParseOutcome& parsed, const PlanOf& plan_of);

}  // namespace hftrain::front
