// A run over the machines of a host file, from the machine where it was started.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "hftrain/arguments/parse.h"
#include "hftrain/reporting/console.h"

namespace hftrain::app {

// Starts `arguments` (the command line after the program's name) on every machine of the host file and waits
// for all of them. Call only when launcher::starts_hosts() says so. With dry_run the machines and what they
// would be started with are printed instead.
ExitCode run_on_hosts(const CommandContext& context, const std::vector<std::string>& arguments,
                      const arguments::ParseOutcome& parsed, reporting::Console& console);

}  // namespace hftrain::app
